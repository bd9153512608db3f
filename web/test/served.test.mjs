// The page and the program together, in a real browser: node served.test.mjs SOA SCREENSHOTS [LOG]
//   SOA          the program; it serves its own page
//   SCREENSHOTS  directory for pictures
//   LOG          a record to be played back
// Ends with 77 and "SKIPPED: why" where Chromium is missing.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { check, complaints, count, eventually, launch, view } from './browser.mjs';

const [soa, pictures, record] = process.argv.slice(2).map((p) => resolve(p));
mkdirSync(pictures, { recursive: true });

const serve = (...words) => view(soa, ...words);
const browser = await launch();
async function open(url) {
  const p = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: 'dark' });
  p.complaints = complaints(p);
  await p.goto(url);
  await p.waitForFunction(() => window.soa?.probe?.().frameTime !== null, null, { timeout: 30000 });
  return p;
}
const probe = (p) => p.evaluate(() => window.soa.probe());
const until = (p, f, argument) =>
  p.waitForFunction(f, argument, { timeout: 30000 }).then(
    () => true,
    () => false,
  );
const shoot = (p, name) => p.screenshot({ path: join(pictures, `${name}.png`) });
/** Colours seen in the 3-D view. */
async function colours(p) {
  const box = await p.locator('#view3').boundingBox();
  const png = (await p.screenshot({ clip: box })).toString('base64');
  const judge = await browser.newPage();
  const different = await judge.evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const g = new OffscreenCanvas(image.width, image.height).getContext('2d');
    g.drawImage(image, 0, 0);
    return new Set(new Uint32Array(g.getImageData(0, 0, image.width, image.height).data.buffer))
      .size;
  }, png);
  await judge.close();
  return different;
}
const distance = (a, b, body) =>
  Math.hypot(...[0, 1, 2].map((k) => a.places[7 * body + k] - b.places[7 * body + k]));

/* ---- the grapple, live ---- */
let server = await serve('grapple');
let p = await open(server.url);
check('it begins when the page is opened', await until(p, () => window.soa.probe().t > 0.3));
await eventually('something is to be seen', async () => {
  const n = await colours(p);
  return [n > 50, n];
});
await p.locator('#play').click();
check('pause', await until(p, () => !window.soa.probe().playing));
/** Waits until nothing comes any more: what was on its way when the run was stopped has arrived. */
async function still() {
  for (let t = NaN, u; ; t = u) {
    await p.waitForTimeout(400);
    u = (await probe(p)).t;
    if (u === t) return;
  }
}
await still();
let a = await probe(p);
await p.locator('#step').click();
check(
  'one step is one tick',
  await until(p, (t) => Math.abs(window.soa.probe().t - t - 0.002) < 1e-9, a.t),
  [a.t, (await probe(p)).t],
);
await still();
check('and no more', Math.abs((await probe(p)).t - a.t - 0.002) < 1e-9, [a.t, (await probe(p)).t]);
await p.getByRole('tab', { name: 'Joints' }).click();
const slider = await p.locator('.joint input').nth(1).boundingBox();
a = await probe(p);
await p.mouse.move(slider.x + slider.width / 2, slider.y + slider.height / 2);
await p.mouse.down();
await p.mouse.move(slider.x + slider.width * 0.65, slider.y + slider.height / 2, { steps: 8 });
await p.mouse.up();
check(
  'a dragged slider moves the arm',
  await until(
    p,
    (then) => window.soa.probe().places.some((x, i) => Math.abs(x - then[i]) > 0.05),
    a.places,
  ),
);
check('without a tick', Math.abs((await probe(p)).t - a.t) < 1e-9);
await shoot(p, 'served-grapple');
await p.locator('#reset').click();
check('reset', await until(p, () => window.soa.probe().t === 0));
await p.locator('#speed').selectOption('2');
await p.locator('#play').click();
check('it goes on after a reset', await until(p, () => window.soa.probe().t > 1));
await p.locator('#tab-summary').click();
const run = () => document.querySelector('#rows td').textContent;
let then;
await eventually('a summary of the run so far', async () => {
  then = await p.evaluate(run);
  return [
    then.includes('so far') && (await p.locator('#rows').textContent()).includes('energy balance'),
    then,
  ];
});
check(
  'which goes on with it',
  await until(p, (before) => document.querySelector('#rows td').textContent !== before, then),
);
check('without notes', !(await p.locator('#notelist').isVisible()));
await shoot(p, 'served-summary');
await p.locator('#tab-plots').click();
const band = await p.locator('#timeline').boundingBox();
await p.mouse.click(band.x + band.width * 0.3, band.y + 25);
check(
  'looking back while it goes on',
  await until(p, () => {
    const x = window.soa.probe();
    return !x.following && Math.abs(x.frameTime - x.t) < 0.05 && x.last > x.t + 0.2;
  }),
);
check('no complaints of the browser', p.complaints.length === 0, p.complaints);
await p.close();
check('it ends well', (await server.end()) === 0);

/* ---- a mouse that pulls ---- */
server = await serve('stack', '--paused', '--until', '1000');
p = await open(server.url);
await p.locator('#play').click();
check('the stack runs', await until(p, () => window.soa.probe().t > 0.2));
const canvas = await p.locator('#view3 canvas').boundingBox();
let worst = 0;
for (const [x, y] of [
  [0.5, 0.5],
  [0.5, 0.6],
  [0.5, 0.4],
  [0.45, 0.55],
  [0.55, 0.45],
]) {
  a = await probe(p);
  await p.mouse.move(canvas.x + canvas.width * x, canvas.y + canvas.height * y);
  await p.mouse.down();
  await p.mouse.move(canvas.x + canvas.width * x + 90, canvas.y + canvas.height * y - 110, {
    steps: 10,
  });
  // on a busy machine the run is slower than real time
  for (let k = 0; k < 10 && worst <= 0.02; ++k) {
    await p.waitForTimeout(600);
    const b = await probe(p);
    for (let body = 1; 7 * body < b.places.length; ++body)
      worst = Math.max(worst, distance(a, b, body));
  }
  await shoot(p, 'served-pull');
  await p.mouse.up();
  if (worst > 0.02) break;
}
check('a body follows the mouse', worst > 0.02, worst);
check('no complaints of the browser', p.complaints.length === 0, p.complaints);
await p.close();
check('it ends well', (await server.end()) === 0);

/* ---- a record ---- */
if (record) {
  server = await serve(record);
  p = await open(server.url);
  a = await probe(p);
  await p.locator('#play').click();
  check(
    'a record is played',
    await until(
      p,
      (t) => window.soa.probe().frameTime > t + 0.2 || window.soa.probe().frameTime < t,
      a.frameTime,
    ),
  );
  await shoot(p, 'served-record');
  check('a good record has no notes', (await p.locator('#notes').count()) === 0);
  check('no complaints of the browser', p.complaints.length === 0, p.complaints);
  await p.close();
  check('it ends well', (await server.end()) === 0);

  const bytes = readFileSync(record);
  bytes[bytes.length >> 1] ^= 255;
  writeFileSync(`${record}.damaged`, bytes);
  server = await serve(`${record}.damaged`);
  p = await open(server.url);
  check(
    'of a damaged one the page says so',
    await until(p, () =>
      /damaged at byte \d+: nothing is shown after t = /.test(
        document.querySelector('#notes')?.textContent ?? '',
      ),
    ),
  );
  await p.locator('#notes button.small').click();
  await eventually('also in the summary', async () => [
    /the record is.*damaged at byte/.test(await p.locator('#panel-summary').textContent()),
  ]);
  await eventually('and in the list', async () => [
    (await p.locator('#notelist li').count()) === 1 && (await p.locator('#notelist').isVisible()),
  ]);
  await shoot(p, 'served-damaged');
  await p.close();
  check('it ends well', (await server.end()) === 0);
}
await browser.close();
console.log(`${count.tests} checks, ${count.failures} failed`);
process.exit(count.failures ? 1 : 0);
