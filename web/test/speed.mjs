// How fast the page itself is: node speed.mjs SOA LOG...
// Opens `soa view LOG` in headless Chromium.  Prints for each record the time from opening the
// address to a picture with its plots (least, median, most of five), and the pictures per second
// while the time line is dragged for five seconds, each with its own frame from the record.
// Without a graphics processor, drawing in software (SwiftShader) is what is measured.
import { cpus, loadavg } from 'node:os';
import { resolve } from 'node:path';
import { launch, view } from './browser.mjs';

const [soa, ...records] = process.argv.slice(2).map((p) => resolve(p));
if (!records.length) {
  console.log('usage: node speed.mjs SOA LOG...');
  process.exit(2);
}
const browser = await launch();
const size = { width: 1280, height: 800 };
const ready = () => {
  const p = window.soa?.probe?.();
  return (
    p && p.frameTime !== null && p.drawn > 0 && document.querySelectorAll('.u-over').length > 0
  );
};
/** Drags the time line back and forth for five seconds; counts pictures and new frames. */
const scrub = async () => {
  const host = document.getElementById('timeline');
  const r = host.getBoundingClientRect();
  const send = (type, x) =>
    host.dispatchEvent(
      new PointerEvent(type, {
        clientX: x,
        clientY: r.top + 25,
        pointerId: 1,
        button: 0,
        bubbles: true,
      }),
    );
  host.setPointerCapture = () => {};
  send('pointerdown', r.left + 10);
  const from = performance.now();
  const drawn = window.soa.probe().drawn;
  let fresh = 0;
  let last = NaN;
  await new Promise((done) => {
    const go = () => {
      const s = (performance.now() - from) / 5000;
      if (s >= 1) return done();
      send('pointermove', r.left + 10 + (r.width - 20) * (1 - Math.abs(1 - 2 * s)));
      const t = window.soa.probe().frameTime;
      if (t !== last) ++fresh;
      last = t;
      requestAnimationFrame(go);
    };
    requestAnimationFrame(go);
  });
  const seconds = (performance.now() - from) / 1000;
  send('pointerup', r.left + 10);
  return { drawn: (window.soa.probe().drawn - drawn) / seconds, fresh: fresh / seconds };
};

console.log(
  `${cpus().length} processors, load ${loadavg()[0].toFixed(1)}, ${size.width} x ${size.height}, Chromium ${browser.version()}`,
);
for (const record of records) {
  const server = await view(soa, record);
  const times = [];
  const rates = [];
  for (let i = 0; i < 5; ++i) {
    const page = await browser.newPage({ viewport: size });
    const from = performance.now();
    await page.goto(server.url);
    await page.waitForFunction(ready, null, { timeout: 60000 });
    times.push((performance.now() - from) / 1000);
    await page.waitForTimeout(1000);
    rates.push(await page.evaluate(scrub));
    await page.close();
  }
  const sorted = (list) => [...list].sort((a, b) => a - b);
  const three = (list, digits) => [0, 2, 4].map((i) => sorted(list)[i].toFixed(digits)).join(', ');
  console.log(
    `${record.replace(/.*\//, '')}: open after ${three(times, 2)} s; scrubbing ${three(
      rates.map((r) => r.fresh),
      0,
    )} new frames a second, ${three(
      rates.map((r) => r.drawn),
      0,
    )} pictures drawn`,
  );
  await server.end();
}
await browser.close();
