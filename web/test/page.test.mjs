// The page in a real browser: node page.test.mjs PAGE SCREENSHOTS [REPORT ...]
//   PAGE         the built view.html
//   SCREENSHOTS  directory for pictures
//   REPORT       reports made by the program, opened too
// Ends with 77 and "SKIPPED: why" where Chromium is missing.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { check, complaints, count, eventually, launch } from './browser.mjs';
import { report, serve } from './fake.mjs';

const [page, pictures, ...reports] = process.argv.slice(2).map((p) => resolve(p));
mkdirSync(pictures, { recursive: true });

const browser = await launch();
async function open(
  url,
  { width = 1280, height = 800, colorScheme = 'dark', expected = null, ...more } = {},
) {
  const p = await browser.newPage({ viewport: { width, height }, colorScheme, ...more });
  p.complaints = complaints(p, expected);
  p.outside = [];
  p.on(
    'request',
    (r) => r.url() !== url && !/^(data|blob):/.test(r.url()) && p.outside.push(r.url()),
  );
  await p.goto(url);
  await p.waitForFunction(() => window.soa?.probe?.().frameTime !== null, null, { timeout: 30000 });
  return p;
}
const probe = (p) => p.evaluate(() => window.soa.probe());
const until = (p, f, argument) =>
  p.waitForFunction(f, argument, { timeout: 20000 }).then(
    () => true,
    () => false,
  );
/** Waits until the picture is still, then saves it. */
async function shoot(p, name) {
  await p.waitForTimeout(150);
  return p.screenshot({ path: join(pictures, `${name}.png`) });
}
/** How many different colours a part of the page shows, and a hash of it: counted from a
 *  screenshot, by another page. */
const judge = await browser.newPage();
async function look(p, selector) {
  const box = await p.locator(selector).first().boundingBox();
  const png = await p.screenshot({ clip: box });
  return judge.evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const c = new OffscreenCanvas(image.width, image.height);
    const g = c.getContext('2d');
    g.drawImage(image, 0, 0);
    const d = new Uint32Array(g.getImageData(0, 0, image.width, image.height).data.buffer);
    const areas = new Map();
    let hash = 0;
    for (let i = 0, from = 0; i < d.length; ++i) {
      // runs of one colour are counted at once
      hash = (Math.imul(hash, 31) + d[i]) | 0;
      if (d[i] === d[i + 1]) continue;
      areas.set(d[i], (areas.get(d[i]) ?? 0) + i + 1 - from);
      from = i + 1;
    }
    const most = Math.max(...areas.values());
    const hue = (x, r, gr, b) => {
      const [R, G, B] = [x & 255, (x >> 8) & 255, (x >> 16) & 255];
      return r(R) && gr(G) && b(B);
    };
    let blue = 0;
    let orange = 0;
    const oranges = new Set();
    for (const [x, n] of areas) {
      if (
        hue(
          x,
          (v) => v < 120,
          (v) => v > 90,
          (v) => v > 150,
        )
      )
        blue += n;
      if (
        hue(
          x,
          (v) => v > 140,
          (v) => v > 80 && v < 190,
          (v) => v < 60,
        )
      ) {
        orange += n;
        oranges.add(x);
      }
    }
    let best = 0;
    let spot = null; // in the widest orange run of a row
    for (let y = 0; y < image.height; y += 4)
      for (let x = 0, run = 0; x < image.width; ++x) {
        run = oranges.has(d[y * image.width + x]) ? run + 1 : 0;
        if (run <= best) continue;
        best = run;
        spot = [x - run / 2, y];
      }
    return { colours: areas.size, hash, background: most / d.length, blue, orange, spot };
  }, png.toString('base64'));
}

/* ---- a report from disk ---- */
const text = readFileSync(page, 'utf8');
check(
  'one file without outside references',
  !/(src|href)="(https?:)?\/\//.test(text) && !/<link[^>]+stylesheet/.test(text),
);
check('below 1 MB', text.length < 1e6, text.length);
const made = join(pictures, 'fake-report.html');
writeFileSync(made, report(text));
let opened = 0;
let rate = null;

async function fromDisk() {
  let p;
  let a;
  let b;
  let seen;
  const begun = Date.now();
  p = await open(pathToFileURL(made).href);
  await until(p, () => document.querySelectorAll('.uplot canvas').length > 0);
  opened = Date.now() - begun;
  await p.waitForTimeout(400);
  check('report: nothing fetched', p.outside.length === 0, p.outside);
  a = await probe(p);
  check('report: begins paused at a telling moment', !a.playing && a.t > 10 && a.t < 40, a.t);
  await eventually('report: the model is in sight', async () => {
    seen = await look(p, '#view3');
    return [
      seen.colours > 200 && seen.background < 0.95 && seen.blue > 300 && seen.orange > 3000,
      seen,
    ];
  });
  const inSight = await p.evaluate(() =>
    ['#view3 canvas', '#timeline', '.uplot'].map((s) => {
      const r = document.querySelector(s).getBoundingClientRect();
      return r.width > 100 && r.top >= 0 && r.bottom <= innerHeight && r.right <= innerWidth;
    }),
  );
  check(
    'report: 3-D view, time line and a plot on the first screen',
    inSight.every(Boolean),
    inSight,
  );
  await shoot(p, 'report-1280-dark');
  await eventually('nothing is drawn while nothing changes', async () => {
    const { drawn } = await probe(p);
    await p.waitForTimeout(400);
    return [(await probe(p)).drawn === drawn];
  });

  check('notes are shown', (await p.locator('#notes').textContent()).includes('left_link3.stl'));
  await p.getByRole('button', { name: 'all 2 notes' }).click();
  check(
    'all notes in a list',
    (await p.locator('#panel-summary .notelist li:visible').allTextContents())
      .join()
      .includes('left_link4.stl'),
  );
  await p.getByRole('button', { name: 'close the note' }).click();
  check('and closed', (await p.locator('#notes').count()) === 0);
  await p.getByRole('tab', { name: 'Plots' }).click();
  const whole = seen.orange;
  await p.setViewportSize({ width: 770, height: 800 });
  await eventually('report: in sight when the window becomes narrow', async () => {
    seen = await look(p, '#view3');
    return [seen.orange > 0.3 * whole && seen.orange < 0.93 * whole, [whole, seen]];
  });
  await p.setViewportSize({ width: 1280, height: 800 });
  await p.waitForTimeout(100);

  // time
  await p.locator('#play').click();
  check(
    'play',
    await until(p, (t) => window.soa.probe().playing && window.soa.probe().t > t + 0.1, a.t),
    a.t,
  );
  await p.locator('#play').click();
  b = await probe(p);
  check('pause', !b.playing);
  await p.waitForTimeout(150);
  check('paused stays', (await probe(p)).t === b.t);
  await p.locator('#step').click();
  const c = await probe(p);
  check(
    'a step is one frame',
    c.t > b.t && c.t - b.t < 0.0501 && Math.abs(c.t / 0.05 - Math.round(c.t / 0.05)) < 1e-6,
    [b.t, c.t],
  );
  await p.locator('#stepback').click();
  check('a step back', Math.abs((await probe(p)).t - (c.t - 0.05)) < 1e-6, (await probe(p)).t);
  const line = await p.locator('#timeline').boundingBox();
  const before = await look(p, '#view3');
  await p.mouse.move(line.x + line.width * 0.5, line.y + 25);
  await p.mouse.down();
  await p.mouse.move(line.x + line.width * 0.2, line.y + 25, { steps: 8 });
  await p.mouse.up();
  b = await probe(p);
  check('scrubbing', Math.abs(b.t - 8) < 0.5, b.t);
  await eventually('the picture follows', async () => [
    (await look(p, '#view3')).hash !== before.hash,
  ]);
  rate = await p.evaluate(async () => {
    // frames a second while scrubbing as fast as frames are drawn
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
    let n = 0;
    const work = [];
    await new Promise((done) => {
      const go = () => {
        const w = performance.now();
        send('pointermove', r.left + 10 + ((7 * n++) % (r.width - 20)));
        work.push(performance.now() - w);
        if (performance.now() - from < 1000) requestAnimationFrame(go);
        else done();
      };
      requestAnimationFrame(go);
    });
    send('pointerup', r.left + 10);
    return {
      frames: window.soa.probe().drawn - drawn,
      work: work.sort((x, y) => x - y)[work.length >> 2],
    };
  });
  check('the work of one scrub is below 12 ms', rate.work < 12, rate);

  // plots
  const over = await p.locator('.u-over').first().boundingBox();
  await p.mouse.click(over.x + over.width * 0.75, over.y + 40);
  b = await probe(p);
  check('a click in a plot moves the time', Math.abs(b.t - 30) < 0.5, b.t);
  const cursor = async () => (await p.locator('.plotcursor').first().boundingBox()).x - over.x;
  await eventually('the cursor is there', async () => [
    Math.abs((await cursor()) / over.width - b.t / 40) < 0.01,
    [await cursor(), over.width],
  ]);
  const chip = () => p.locator('.chip b').first().textContent();
  let valueThen;
  await eventually('values are shown', async () => [(valueThen = await chip()) !== '0', valueThen]); // 0 is that at the beginning
  await p.keyboard.press('Escape');
  await p.evaluate(() => document.activeElement.blur());
  await p.keyboard.press('Home');
  check('Home', (await probe(p)).t === 0);
  await eventually('the cursor follows the time', async () => [
    Math.abs(await cursor()) < 2,
    await cursor(),
  ]);
  await eventually('so do the values', async () => [
    (await chip()) === '0',
    [valueThen, await chip()],
  ]);
  await p.keyboard.press('ArrowRight');
  check('arrow keys step', Math.abs((await probe(p)).t - 0.05) < 1e-9, (await probe(p)).t);
  await p.keyboard.press('PageDown');
  check('Page down: the next event', (await probe(p)).t === 8, (await probe(p)).t);
  await p.keyboard.press('End');
  check('End', (await probe(p)).t === 40);
  await p.keyboard.press('Home');
  await p.keyboard.press('Space');
  check(
    'space plays',
    await until(p, () => window.soa.probe().playing && window.soa.probe().t > 0),
  );
  await p.keyboard.press('Space');
  check('space pauses', !(await probe(p)).playing);
  await p.keyboard.press('?');
  check('? opens help', await p.locator('dialog[open]').isVisible());
  await p.keyboard.press('Escape');
  check('Escape closes it', (await p.locator('dialog[open]').count()) === 0);
  await p.keyboard.down('Shift');
  await p.mouse.move(over.x + over.width * 0.25, over.y + 40);
  await p.mouse.down();
  await p.mouse.move(over.x + over.width * 0.5, over.y + 60, { steps: 4 });
  await p.mouse.up();
  await p.keyboard.up('Shift');
  await eventually('Shift and drag zooms', async () => {
    await p.mouse.click(over.x + over.width * 0.5, over.y + 40);
    return [Math.abs((await probe(p)).t - 15) < 0.5, (await probe(p)).t];
  });
  await p.getByRole('button', { name: 'Whole time' }).click();
  await p.getByRole('button', { name: 'choose signals' }).first().click();
  await p.keyboard.type('tau left_joint3');
  check('signals are found by name', (await p.locator('.signals label:visible').count()) === 1);
  await p.locator('.signals label:visible input').check();
  await p.keyboard.press('Escape');
  check(
    'a signal chosen is shown',
    (await p.locator('.panel').first().textContent()).includes('tau.robot.left_joint3'),
  );
  const saved = async (name) => {
    await p.locator('.savepop summary').first().click();
    const [d] = await Promise.all([
      p.waitForEvent('download'),
      p.getByRole('button', { name }).first().click(),
    ]);
    return readFileSync(await d.path());
  };
  const csv = String(await saved('Values (CSV)')).split('\n');
  check(
    'CSV of what is shown',
    /^t \[s\],contact\.finger\.pressure \[N\]/.test(csv[0]) && csv.length === 2003,
    [csv[0], csv.length],
  );
  check('PNG of a plot', (await saved('Picture (PNG)')).subarray(1, 4).toString() === 'PNG');

  // lists, picking
  await p.getByRole('tab', { name: 'Events' }).click();
  await p.locator('.events .row').nth(1).click();
  check('a click on an event goes there', (await probe(p)).t === 10, (await probe(p)).t);
  await p.getByRole('tab', { name: 'Summary' }).click();
  check('summary', (await p.locator('table.summary').textContent()).includes('1.01 mm'));
  await p.getByRole('tab', { name: 'Scenario' }).click();
  check('scenario as it is', (await p.locator('pre').textContent()).includes('two arms & a <box>'));
  await p.getByRole('tab', { name: 'Bodies' }).click();
  await p.locator('.treerow .link', { hasText: 'left_link3' }).click();
  check(
    'what a body is',
    /left_link3[\s\S]*8\.000 kg[\s\S]*left_joint3 \(revolute\)/.test(
      await p.locator('#card').textContent(),
    ),
    await p.locator('#card').textContent(),
  );
  const shown = await look(p, '#view3');
  await p.getByLabel('show satellite', { exact: true }).last().uncheck();
  await eventually('hidden bodies are not seen', async () => {
    const { orange } = await look(p, '#view3');
    return [orange < 0.5 * shown.orange, [shown.orange, orange]];
  });
  await p.getByLabel('show satellite', { exact: true }).last().check();
  await p.getByLabel('trail of satellite').check();
  await p.keyboard.press('Escape');
  await p.locator('#layers summary').click();
  for (const box of await p.locator('#layers input').all()) await box.check();
  await p.keyboard.press('Escape');
  await p.waitForTimeout(150);
  await shoot(p, 'report-all-layers');
  const view = await p.locator('#view3 canvas').boundingBox();
  const spot = (await look(p, '#view3')).spot;
  await p.mouse.click(view.x + spot[0], view.y + spot[1]);
  check('a click on a body chooses it', (await probe(p)).selected === 13, [
    (await probe(p)).selected,
    spot,
  ]);
  for (const name of ['Front', 'Side', 'Top', 'Fit', 'Iso'])
    await p.getByRole('button', { name, exact: true }).click();
  await p.getByLabel('dark or light').click();
  check(
    'the switch makes it light',
    (await p.evaluate(() => document.documentElement.dataset.theme)) === 'light',
  );
  check('report: no complaints', p.complaints.length === 0, p.complaints);
  await p.close();
}

async function others() {
  let p;
  let a;
  let seen;
  /* ---- sizes, schemes, long runs, no WebGL ---- */
  const long = join(pictures, 'fake-long.html');
  writeFileSync(long, report(text, { long: true, duration: 3600, samples: 3600001, frames: 1501 }));
  for (const [width, height, colorScheme, file, name] of [
    [390, 844, 'dark', made, 'report-390-dark'],
    [1440, 900, 'light', long, 'long-1440-light'],
  ]) {
    p = await open(pathToFileURL(file).href, {
      width,
      height,
      colorScheme,
      reducedMotion: 'reduce',
    });
    await until(p, () => document.querySelectorAll('.uplot canvas').length > 0);
    await p.waitForTimeout(300);
    const wide = await p.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    check(`${name}: no horizontal scrolling`, wide[0] <= wide[1], wide);
    await eventually(`${name}: the model is in sight`, async () => {
      seen = await look(p, '#view3');
      return [seen.colours > 100 && seen.orange > 500, seen];
    });
    check(`${name}: no complaints`, p.complaints.length === 0, p.complaints);
    await shoot(p, name);
    if (colorScheme === 'dark') {
      // the system changes its mind
      await p.emulateMedia({ colorScheme: 'light' });
      await eventually('light when the system is', async () => [
        (await look(p, '#view3')).hash !== seen.hash &&
          (await p.evaluate(() => document.documentElement.dataset.theme)) === 'light',
      ]);
      await shoot(p, 'report-390-light');
    }
    await p.close();
  }
  p = await browser.newPage();
  p.complaints = [];
  p.on('pageerror', (e) => p.complaints.push(String(e)));
  await p.addInitScript(
    () =>
      (HTMLCanvasElement.prototype.getContext = ((old) =>
        function (kind, ...rest) {
          return /webgl/.test(kind) ? null : old.call(this, kind, ...rest);
        })(HTMLCanvasElement.prototype.getContext)),
  );
  await p.goto(pathToFileURL(made).href);
  await until(p, () => document.querySelectorAll('.uplot canvas').length > 0);
  check(
    'without WebGL a word in its place',
    (await p.locator('.nogl').textContent()).includes('WebGL'),
  );
  await p.locator('#step').click();
  check('and the rest works', (await probe(p)).t > 0 && p.complaints.length === 0, p.complaints);
  await shoot(p, 'no-webgl');
  await p.close();

  /* ---- a log whose scenario is gone: plots only ---- */
  const bare = join(pictures, 'fake-bare.html');
  writeFileSync(bare, report(text, { bodies: false, long: true }));
  p = await browser.newPage();
  p.complaints = [];
  p.on('pageerror', (e) => p.complaints.push(String(e)));
  await p.goto(pathToFileURL(bare).href);
  check(
    'without bodies: plots',
    await until(p, () => document.querySelectorAll('.uplot canvas').length > 0),
  );
  check(
    'without bodies: why',
    (await p.locator('.nogl').textContent()).includes('cannot be opened'),
  );
  a = await probe(p);
  await p.locator('#step').click();
  check('without bodies: steps', (await probe(p)).t > a.t && p.complaints.length === 0, [
    a.t,
    p.complaints,
  ]);
  await p.close();
  p = await browser.newPage();
  await p.goto(pathToFileURL(page).href);
  check(
    'a page without a run says so',
    await until(p, () => /no run/.test(document.getElementById('banner').textContent)),
  );
  await p.close();
}

async function served() {
  let p;
  let a;
  let b;
  let server;
  /* ---- served: live ---- */
  const log = [];
  server = await serve(page, { live: true, log });
  p = await open(server.url, { expected: /WebSocket connection/ });
  a = await probe(p);
  check('live: begins as the program says', !a.playing && a.following && a.t === 0, a);
  await p.locator('#play').click();
  check('live: runs', await until(p, () => window.soa.probe().t > 0.5));
  await shoot(p, 'live-1280-dark');
  await p.locator('#play').click();
  check('live: pauses', await until(p, () => !window.soa.probe().playing));
  await p.waitForTimeout(250);
  a = await probe(p);
  await p.locator('#step').click();
  check(
    'live: a step',
    await until(p, (t) => Math.abs(window.soa.probe().t - t - 0.002) < 1e-6, a.t),
    [a.t, (await probe(p)).t],
  );
  await p.getByRole('tab', { name: 'Joints' }).click();
  const slider = await p.locator('.joint input').nth(1).boundingBox();
  const then = await probe(p);
  const looked = await look(p, '#view3');
  await p.mouse.move(slider.x + slider.width / 2 - 30, slider.y + slider.height / 2);
  await p.mouse.down();
  await p.mouse.move(slider.x + slider.width * 0.7, slider.y + slider.height / 2, { steps: 6 });
  await p.mouse.up();
  let sent;
  await eventually('live: a dragged slider sends the joint', async () => {
    sent = log.filter((m) => m.do === 'joint' && m.value !== undefined);
    return [
      sent.length > 1 &&
        sent.every((m) => m.q === 1) &&
        Math.abs(sent.at(-1).value - (0.7 * 5.6 - 2.8)) < 0.15,
      sent.at(-1),
    ];
  });
  await eventually('live: and moves the arm', async () => [
    (await probe(p)).places.some((x, i) => Math.abs(x - then.places[i]) > 0.05),
    'same places',
  ]);
  await eventually('live: as one can see', async () => [
    (await look(p, '#view3')).hash !== looked.hash,
  ]);
  await eventually('live: its value is shown', async () => {
    const value = await p.locator('.joint output').nth(1).textContent();
    return [
      Math.abs(parseFloat(value.replace('−', '-')) - sent.at(-1).value) < 0.01,
      [value, sent.at(-1).value],
    ];
  });
  const live = await p.locator('#view3 canvas').boundingBox();
  const held = (await look(p, '#view3')).spot;
  await p.mouse.move(live.x + held[0], live.y + held[1]);
  await p.mouse.down();
  await p.mouse.move(live.x + held[0] + 60, live.y + held[1] - 50, { steps: 5 });
  await p.waitForTimeout(60);
  await shoot(p, 'live-pull');
  await p.mouse.up();
  await eventually('live: a dragged body is pulled', async () => {
    const pulled = log.find((m) => m.do === 'pull');
    return [pulled?.body === 13 && pulled.at.length === 3 && pulled.to.length === 3, pulled];
  });
  await eventually('live: and let go', async () => [log.some((m) => m.do === 'release')]);
  await p.locator('#speed').selectOption('2');
  await eventually('live: speed', async () => [log.some((m) => m.do === 'speed' && m.value === 2)]);
  await p.locator('#play').click();
  await until(p, () => window.soa.probe().t > 2);
  const band = await p.locator('#timeline').boundingBox();
  await p.mouse.click(band.x + band.width * 0.3, band.y + 25);
  a = await probe(p);
  await eventually('live: looking back stays there while the run goes on', async () => {
    b = await probe(p);
    return [
      !b.following && b.t === a.t && b.last > a.last && Math.abs(b.frameTime - b.t) < 0.05,
      [a, b].map((x) => [x.t, x.last, x.frameTime]),
    ];
  });
  await p.locator('#golive').click();
  check(
    'live: and follows again',
    await until(
      p,
      () => window.soa.probe().following && window.soa.probe().t > window.soa.probe().last - 0.5,
    ),
  );
  for (const bad of [
    'no JSON',
    '{"kind": "state"}',
    '{"kind": "scene", "version": 7}',
    '{"kind": "events", "list": [3, null]}',
    '[]',
    'null',
    Buffer.alloc(3),
    Buffer.from([1, 0, 0, 0, 9]),
    Buffer.alloc(64, 255),
    Buffer.concat([
      Buffer.from([1, 0, 0, 0]),
      Buffer.alloc(16),
      Buffer.from([255, 255, 255, 127]),
      Buffer.alloc(20),
    ]),
  ])
    server.say(bad);
  await p.waitForTimeout(100);
  check(
    'live: bad messages are left out',
    await until(p, (t) => window.soa.probe().t > t, (await probe(p)).t + 0.1),
  );
  server.drop();
  check(
    'live: a lost connection is said',
    await until(
      p,
      () =>
        !document.getElementById('banner').hidden &&
        /lost/.test(document.getElementById('banner').textContent),
    ),
  );
  check('live: and taken up again', await until(p, () => document.getElementById('banner').hidden));
  await p.locator('#reset').click();
  check('live: reset', await until(p, () => window.soa.probe().t === 0));
  check('live: no complaints', p.complaints.length === 0, p.complaints);
  await p.close();
  await server.close();

  /* ---- served: replay ---- */
  log.length = 0;
  server = await serve(page, { live: false, duration: 3600, samples: 3600001, log });
  p = await open(server.url);
  await until(p, () => document.querySelectorAll('.uplot canvas').length > 0);
  await p.waitForTimeout(200);
  a = await probe(p);
  await p.locator('#play').click();
  check(
    "replay: plays by the page's clock",
    await until(p, (t) => window.soa.probe().frameTime > t + 0.2, a.t),
  );
  await p.locator('#play').click();
  const asked = log.filter((m) => m.do === 'overview').length;
  await p.getByRole('button', { name: 'zoom in' }).click();
  await eventually('replay: overviews of what is shown', async () => {
    const zoom = log.filter((m) => m.do === 'overview').pop();
    return [
      log.filter((m) => m.do === 'overview').length > asked &&
        Math.abs(zoom.t1 - zoom.t0 - 1800) < 1 &&
        zoom.columns < 2000 &&
        zoom.signals.length <= 64,
      zoom,
    ];
  });
  check(
    'replay: never all samples of an hour',
    log.filter((m) => m.do === 'samples').every((m) => m.t1 - m.t0 < 10),
  );
  check('replay: no complaints', p.complaints.length === 0, p.complaints);
  await p.close();
  await server.close();
}

async function machine() {
  /* ---- served: a machine alone, with a loop ---- */
  const server = await serve(page, { source: 'model', closed: true });
  const p = await open(server.url);
  check(
    'machine: opens on the sliders',
    (await p.locator('.joint input:visible').count()) > 3 &&
      (await p.getByRole('tab', { selected: true }).textContent()) === 'Joints',
  );
  await p.getByRole('tab', { name: 'Bodies' }).click();
  await p.getByLabel('show robot', { exact: true }).uncheck();
  const blue = async () => {
    // of the picture once it is still
    for (let n = NaN, m; ; n = m) {
      await p.waitForTimeout(300);
      m = (await look(p, '#view3')).blue;
      if (m === n) return m;
    }
  };
  const alone = [await blue()];
  for (const side of ['left', 'right']) {
    await p.getByLabel(`show robot.${side}_link3`, { exact: true }).check();
    alone.push((await blue()) - alone[0]);
    await p.getByLabel(`show robot.${side}_link3`, { exact: true }).uncheck();
  }
  check(
    'machine: a bone to the joint that closes a loop',
    alone[2] > 20 && alone[1] > 1.5 * alone[2],
    alone,
  );
  await p.getByLabel('show robot', { exact: true }).check();
  await p.setViewportSize({ width: 390, height: 844 });
  await p.evaluate(() => (document.getElementById('clock').firstChild.data = '1234.567 ')); // a long run
  const [clock, button] = await Promise.all(
    ['#clock', '#golive'].map((s) => p.locator(s).boundingBox()),
  );
  check(
    'machine: on a phone the clock is beside the button',
    clock.x + clock.width <= button.x && button.x + button.width <= 390,
    [clock, button],
  );
  await shoot(p, 'machine-390-dark');
  check('machine: no complaints', p.complaints.length === 0, p.complaints);
  await p.close();
  await server.close();
}

async function ofTheProgram() {
  let p;
  let a;
  let seen;
  /* ---- what the program wrote ---- */
  for (const [i, file] of reports.entries()) {
    p = await open(pathToFileURL(file).href);
    await until(p, () => document.querySelectorAll('.uplot canvas').length > 0);
    await p.waitForTimeout(300);
    seen = await look(p, '#view3');
    check(`${file}: in sight`, seen.colours > 60 && seen.background < 0.97, seen);
    a = await probe(p);
    await p.locator('#play').click();
    check(`${file}: plays`, await until(p, (t) => window.soa.probe().frameTime > t + 0.1, a.t));
    check(`${file}: no complaints`, p.complaints.length === 0 && p.outside.length === 0, [
      p.complaints,
      p.outside,
    ]);
    await shoot(p, `program-${i}`);
    await p.close();
  }
}

const failed = (name) => (e) => check(name, false, String(e.stack ?? e));
await Promise.all([
  fromDisk().catch(failed('report')).then(machine).catch(failed('machine')),
  served()
    .catch(failed('served'))
    .then(others)
    .catch(failed('others'))
    .then(ofTheProgram)
    .catch(failed('reports of the program')),
]);
await browser.close();
console.log(
  `${count.tests} checks, ${count.failures} failed; report open after ${opened} ms; ${rate?.frames} pictures in 1 s of scrubbing, ${rate?.work.toFixed(2)} ms of work each (lower quartile)`,
);
process.exit(count.failures ? 1 : 0);
