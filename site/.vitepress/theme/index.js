// The theme without its font: the fonts of the machine do, and nothing is loaded for them.
import theme from 'vitepress/theme-without-fonts';
import './style.css';

export default theme;
