// npm run build -- --outDir DIR: every *.html here becomes one self-contained file in DIR (dist).
import { readdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const here = dirname(fileURLToPath(import.meta.url));
const at = process.argv.indexOf('--outDir');
const outDir = resolve(
  process.cwd(),
  at > 0 ? process.argv[at + 1] : (process.env.SOA_WEB_OUT ?? 'dist'),
);
for (const page of readdirSync(here)
  .filter((name) => name.endsWith('.html'))
  .sort()) {
  process.env.SOA_PAGE = page;
  await build({
    root: here,
    configFile: resolve(here, 'vite.config.ts'),
    logLevel: 'warn',
    build: { outDir },
  });
}
