// Vite's server of what is built, and not VitePress's, which listens on all addresses of the machine.
import { preview } from 'vite';

const server = await preview({
  root: import.meta.dirname,
  configFile: false,
  // What is not there is an error, and not the first page.
  appType: 'mpa',
  build: { outDir: '.vitepress/dist' },
  preview: { host: '127.0.0.1' },
});
server.printUrls();
