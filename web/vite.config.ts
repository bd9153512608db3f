// One HTML file per page: every *.html beside this file is a page with its entry module.  Scripts
// and styles are written into it, so that it opens from disk and can be part of the program.
// SOA_PAGE says which page to build (build.mjs builds all).
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

const here = dirname(fileURLToPath(import.meta.url));
const page = process.env.SOA_PAGE ?? 'view.html';

function licences(): string {
  const one = (name: string) =>
    `${name}\n\n${readFileSync(resolve(here, 'node_modules', name, 'LICENSE'), 'utf8').trim()}`;
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
        html = html.replace(
          /<script type="module"[^>]*src="([^"]+)"[^>]*><\/script>/g,
          (_all, src: string) => {
            const name = src.replace(/^\.?\//, '');
            const chunk = bundle[name];
            if (!chunk || chunk.type !== 'chunk') throw new Error(`${src} is not in the bundle`);
            delete bundle[name];
            // nothing in the code may look like the end of the script or of the page
            return `<script type="module">${chunk.code.replace(/<\/(script|body)/gi, '<\\/$1')}</script>`;
          },
        );
        html = html.replace(
          /<link rel="stylesheet"[^>]*href="([^"]+)"[^>]*>/g,
          (_all, href: string) => {
            const name = href.replace(/^\.?\//, '');
            const sheet = bundle[name];
            if (!sheet || sheet.type !== 'asset') throw new Error(`${href} is not in the bundle`);
            delete bundle[name];
            return `<style>${String(sheet.source)}</style>`;
          },
        );
        html = html.replace(/(<!doctype html>\s*)/i, (all) => all + licences());
        if (html.split('</body>').length !== 2) throw new Error(`${file}: </body> must occur once`);
        if (/\b(src|href)="(https?:)?\/\//.test(html))
          throw new Error(`${file}: refers to something outside`);
        item.source = html;
      }
    },
  };
}

/** What cmake/wasm.cmake made, as modules: libsoa in WebAssembly, and the playground's machines. */
function core(): Plugin {
  const files: Record<string, (text: string) => string> = {
    'playground.js': (text) => `${text}\nexport default soaPlayground;`,
    'models.json': (text) => text, // vite knows JSON
  };
  const own = '\0soa-core/';
  return {
    name: 'soa-core',
    resolveId: (id) => (id.startsWith('soa-core/') ? `\0${id}` : null),
    load(id) {
      const name = id.startsWith(own) ? id.slice(own.length) : '';
      return files[name]
        ? files[name](
            readFileSync(
              resolve(process.env.SOA_WASM_DIR ?? resolve(here, '../build/wasm'), name),
              'utf8',
            ),
          )
        : null;
    },
  };
}

export default defineConfig({
  root: here,
  base: './',
  plugins: [core(), oneFile()],
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
