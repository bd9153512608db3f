// What the scripts that drive the pages share: a browser, counted checks, the program as a server.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

/** Headless Chromium; CHROMIUM names another one.  Without any, the script ends with status 77. */
export async function launch(...more) {
  const executablePath = [
    process.env.CHROMIUM,
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
  ].find((p) => p && existsSync(p));
  if (!executablePath) {
    console.log('SKIPPED: Chromium is not installed');
    process.exit(77);
  }
  return chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--use-gl=swiftshader', '--enable-unsafe-swiftshader', ...more],
  });
}

/** What the page complains of on its console, but for what software drawing says of itself. */
export function complaints(page, expected = null) {
  const harmless = /GPU stall|GL Driver Message|Automatic fallback to software WebGL/;
  const list = [];
  page.on(
    'console',
    (m) =>
      ['error', 'warning'].includes(m.type()) &&
      !harmless.test(m.text()) &&
      !expected?.test(m.text()) &&
      list.push(m.text()),
  );
  page.on('pageerror', (e) => list.push(String(e)));
  return list;
}

/** check(what, ok, more): counted; failures are printed. */
export const count = { tests: 0, failures: 0 };
export function check(what, ok, more = '') {
  ++count.tests;
  if (ok) return;
  ++count.failures;
  console.log(`FAILED ${what}${more === '' ? '' : `: ${JSON.stringify(more)}`}`);
}

/** A check of what f returns, [ok, more].  A page draws when it gets the processor, so f is called
 *  again until it is fine, for 20 s. */
export async function eventually(what, f) {
  for (const end = Date.now() + 20000; ; await new Promise((r) => setTimeout(r, 50))) {
    const [ok, more] = await f();
    if (ok || Date.now() > end) return check(what, ok, more);
  }
}

/** `soa view WORDS...`: its address, and a way to end it that gives its exit code. */
export function view(soa, ...words) {
  const child = spawn(soa, ['view', ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  const done = new Promise((r) => child.on('exit', (code) => r(code)));
  process.on('exit', () => child.kill('SIGKILL')); // whatever becomes of the script
  const end = () => {
    child.kill('SIGINT');
    return done;
  };
  return new Promise((r) => child.stdout.once('data', (d) => r({ url: String(d).trim(), end })));
}
