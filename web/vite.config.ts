// One HTML file per page: every *.html beside this file is a page with its own entry module; JS and CSS are written
// into it, so that it opens from disk and can stand inside the program.  SOA_PAGE says which (build.mjs does all).
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

const here = dirname(fileURLToPath(import.meta.url));
const page = process.env.SOA_PAGE ?? 'view.html';

function licences(): string {
  const one = (name: string) => `${name}\n\n${readFileSync(resolve(here, 'node_modules', name, 'LICENSE'), 'utf8').trim()}`;
  return `<!--\nThis page is part of libsoa (Apache-2.0) and holds parts of:\n\n${['three', 'uplot'].map(one).join('\n\n----\n\n')}\n-->\n`;
}

function oneFile(): Plugin {
  return {
    name: 'one-file',
    enforce: 'post',
    generateBundle(_options, bundle) {
      for (const [file, item] of Object.entries(bundle)) {
        if (item.type !== 'asset' || !file.endsWith('.html')) continue;
        let html = String(item.source);
        html = html.replace(/<script type="module"[^>]*src="([^"]+)"[^>]*><\/script>/g, (_all, src: string) => {
          const name = src.replace(/^\.?\//, '');
          const chunk = bundle[name];
          if (!chunk || chunk.type !== 'chunk') throw new Error(`${src} is not in the bundle`);
          delete bundle[name];
          // nothing in the code may look like the end of the script or of the page
          return `<script type="module">${chunk.code.replace(/<\/(script|body)/gi, '<\\/$1')}</script>`;
        });
        html = html.replace(/<link rel="stylesheet"[^>]*href="([^"]+)"[^>]*>/g, (_all, href: string) => {
          const name = href.replace(/^\.?\//, '');
          const sheet = bundle[name];
          if (!sheet || sheet.type !== 'asset') throw new Error(`${href} is not in the bundle`);
          delete bundle[name];
          return `<style>${String(sheet.source)}</style>`;
        });
        html = html.replace(/(<!doctype html>\s*)/i, (all) => all + licences());
        if (html.split('</body>').length !== 2) throw new Error(`${file}: </body> must stand there once`);
        if (/\b(src|href)="(https?:)?\/\//.test(html)) throw new Error(`${file}: refers to something outside`);
        item.source = html;
      }
    },
  };
}

export default defineConfig({
  root: here,
  base: './',
  plugins: [oneFile()],
  build: {
    target: 'es2020',
    emptyOutDir: false,
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 100_000_000,
    chunkSizeWarningLimit: 2000,
    reportCompressedSize: false,
    rollupOptions: { input: resolve(here, page), output: { inlineDynamicImports: true } },
  },
});
