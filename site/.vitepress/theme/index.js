// The theme without its font: the fonts of the machine do, and nothing is loaded for them.

import { useData } from 'vitepress';
import theme from 'vitepress/theme-without-fonts';
import { onMounted, watchEffect } from 'vue';
import './style.css';

export default {
  extends: theme,
  /** The next page may be in another language, which the server has said only of the first. */
  setup() {
    const { frontmatter, lang } = useData();
    onMounted(() =>
      watchEffect(() => {
        document.documentElement.lang = frontmatter.value.language ?? lang.value;
      }),
    );
  },
};
