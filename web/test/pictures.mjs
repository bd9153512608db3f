// The README's picture and the frames of its animation: node pictures.mjs REPORT DIRECTORY
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './browser.mjs';

const [report, directory] = process.argv.slice(2).map((p) => resolve(p));
mkdirSync(directory, { recursive: true });
const browser = await launch();
async function open(width, height) {
  const p = await browser.newPage({ viewport: { width, height }, colorScheme: 'light' });
  await p.goto(pathToFileURL(report).href);
  await p.waitForFunction(() => window.soa?.probe?.().frameTime !== null, null, { timeout: 15000 });
  await p.waitForTimeout(1500);
  return p;
}
const wide = await open(1280, 800);
await wide.screenshot({ path: join(directory, 'report.png') });
const small = await open(960, 600);
const line = await small.locator('#timeline').boundingBox();
const last = 24;
const count = 40; // s of the run, and frames of the animation
for (let k = 0; k < count; ++k) {
  const t = (k / (count - 1)) * last;
  const all = await small.evaluate(() => window.soa.probe().last ?? 40);
  await small.mouse.click(line.x + 16 + (line.width - 32) * (t / all), line.y + 25);
  await small.mouse.move(line.x + line.width / 2, line.y - 60); // no tooltip
  await small.waitForTimeout(500); // until the picture is fine again
  await small.screenshot({ path: join(directory, `frame-${String(k).padStart(3, '0')}.png`) });
}
await browser.close();
