// node playground.test.mjs PAGE PROGRAM SCREENS
// The playground in headless Chromium, opened from disk: its pixels are looked at, its numbers are
// compared with the program's, and it is used by mouse, by keyboard and on a small screen.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './browser.mjs';

const [page, program, screens] = process.argv.slice(2).map((x) => resolve(x));
mkdirSync(screens, { recursive: true });
const own = mkdtempSync(join(tmpdir(), 'playground-'));
let failures = 0;
const begun = Date.now();
const check = (good, what) => {
  if (!good) ++failures;
  console.log(
    `${good ? 'ok  ' : 'FAIL'} ${((Date.now() - begun) / 1000).toFixed(1).padStart(5)} s  ${what}`,
  );
};
const soa = (words, input = '') => execFileSync(program, words, { input, encoding: 'utf8' });

const browser = await launch('--allow-file-access-from-files');
const eye = await browser.newPage(); // reads pictures
const pixels = (png) =>
  eye.evaluate(async (data) => {
    const image = await createImageBitmap(
      await (await fetch(`data:image/png;base64,${data}`)).blob(),
    );
    const pen = new OffscreenCanvas(image.width, image.height).getContext('2d');
    pen.drawImage(image, 0, 0);
    const { data: rgba } = pen.getImageData(0, 0, image.width, image.height);
    let seen = 0;
    let arrows = 0;
    let x = 0;
    let y = 0;
    for (let i = 0; i < rgba.length; i += 4) {
      const [r, g, b] = [rgba[i], rgba[i + 1], rgba[i + 2]];
      if (b > 150 && b - r > 60) {
        // links are blue
        ++seen;
        x += (i / 4) % image.width;
        y += Math.floor(i / 4 / image.width);
      }
      if (r > 200 && g > 110 && g < 200 && b < 90) ++arrows; // outward arrows are orange
    }
    let at = [0, 0, Infinity]; // a point on a link, well inside, near the middle of all
    const blue = (i) => rgba[i + 2] > 150 && rgba[i + 2] - rgba[i] > 60;
    for (let i = 0; i < rgba.length; i += 4) {
      const px = (i / 4) % image.width;
      const py = Math.floor(i / 4 / image.width);
      const d = Math.hypot(px - x / seen, py - y / seen);
      if (
        d < at[2] &&
        blue(i) &&
        blue(i - 8) &&
        blue(i + 8) &&
        blue(i - 8 * image.width) &&
        blue(i + 8 * image.width)
      )
        at = [px, py, d];
    }
    return { seen: seen / (rgba.length / 4), arrows, x: at[0], y: at[1] };
  }, png.toString('base64'));
const apart = (a, b) =>
  eye.evaluate(
    async (two) => {
      const [p, q] = await Promise.all(
        two.map(async (data) => {
          const image = await createImageBitmap(
            await (await fetch(`data:image/png;base64,${data}`)).blob(),
          );
          const pen = new OffscreenCanvas(image.width, image.height).getContext('2d');
          pen.drawImage(image, 0, 0);
          return pen.getImageData(0, 0, image.width, image.height).data;
        }),
      );
      let n = 0;
      for (let i = 0; i < p.length; i += 4)
        if (
          Math.abs(p[i] - q[i]) + Math.abs(p[i + 1] - q[i + 1]) + Math.abs(p[i + 2] - q[i + 2]) >
          60
        )
          ++n;
      return n / (p.length / 4);
    },
    [a.toString('base64'), b.toString('base64')],
  );

const complaints = [];
async function open(machine, width, height, colorScheme) {
  const p = await browser.newPage({ viewport: { width, height }, colorScheme });
  p.on('console', (m) => m.type() === 'error' && complaints.push(m.text()));
  p.on('pageerror', (e) => complaints.push(String(e)));
  p.on(
    'request',
    (r) => /^(file|data|blob):/.test(r.url()) || complaints.push(`asked for ${r.url()}`),
  );
  await p.goto(`${pathToFileURL(page)}#${encodeURIComponent(machine)}`);
  await p.waitForSelector('.verdict.good', { timeout: 20000 });
  return p;
}
const picture = (p) => p.locator('#view3').screenshot();
/** The picture once it is still: it is coarse while things move and fine a moment later. */
const fine = async (p) => {
  for (let k = 0, last = null; ; ++k) {
    const now = await picture(p);
    if (k === 20 || (last && now.equals(last))) return now;
    last = now;
    await p.waitForTimeout(400);
  }
};
const give = async (p, text) => {
  await p.fill('#expression', text);
  await p.press('#expression', 'Enter');
};
const results = (p) => p.locator('.bars output').allTextContents();
const number = (text) => Number(text.replace(/−/g, '-'));

try {
  /* ---- a machine and an expression ---- */
  const p = await open('arm7', 960, 600, 'dark');
  const before = await fine(p);
  const seen = await pixels(before);
  check(seen.seen > 0.003, `the arm is visible: ${(100 * seen.seen).toFixed(1)} % of the picture`);
  check(
    (await p.locator('.sweepcard').count()) === 3 && (await p.locator('svg.sweep').count()) === 3,
    'FD3 is drawn as three sweeps',
  );

  await p.click('#tab-state');
  await p.fill('#vector-T', '1 2 3 4 5 6 7');
  const q = (await p.locator('.joint output').allTextContents()).map(number);
  await p.click('#tab-expression');
  await give(p, 'inv(Mass) T');
  await p.waitForFunction(
    () =>
      document.querySelectorAll('.sweepcard').length === 2 &&
      /psi K/.test(document.querySelector('.planned')?.textContent ?? ''),
    null,
    { timeout: 20000 },
  );
  await p.waitForSelector('.verdict.good');
  const expected = JSON.parse(
    soa(
      ['op', 'arm7', '--ideal', 'inv(Mass) T'],
      JSON.stringify({ q, tau: [1, 2, 3, 4, 5, 6, 7] }),
    ),
  ).result;
  const shown = (await results(p)).map(number);
  check(
    shown.length === 7 &&
      shown.every((x, i) => Math.abs(x - expected[i]) <= 2e-3 * Math.abs(expected[i])),
    `inv(Mass) T as the program gives it: ${shown.join(' ')}`,
  );
  check(
    /= .*psi/.test((await p.locator('.recursion').allTextContents()).join(' ')),
    'its recursion is written out',
  );
  check(
    /additions/.test(await p.locator('.factline').first().textContent()),
    'its operations are counted',
  );

  await give(p, "J inv(Mass) J'");
  await p.waitForSelector('#outcome .matrix td', { timeout: 20000 });
  check(
    (await p.locator('#outcome .matrix td').count()) === 36,
    'an operator is shown as a matrix',
  );
  await give(p, 'inv(D) H psi T');
  await p.waitForSelector('#mistake:not([hidden])');
  const lines = (await p.textContent('#mistake')).split('\n');
  check(
    lines.length === 3 &&
      lines[2].indexOf('^') === lines[1].lastIndexOf('T') &&
      /takes link/.test(lines[0]),
    `a wrong one: ${lines[0]}`,
  );
  await p.screenshot({ path: join(screens, 'playground-mistake.png') });
  await p.click('.examples >> text=FD4');
  await p.waitForSelector('.verdict.good', { timeout: 20000 });
  check(await p.locator('#mistake').isHidden(), 'a right one takes the message away');

  /* ---- sweeps on the arm ---- */
  await p.waitForFunction(
    () => !/Looking/.test(document.querySelector('#outcome').textContent),
    null,
    { timeout: 20000 },
  );
  const outward = p.locator('.sweepcard.outward .sweepbutton').first();
  await outward.click();
  let swept = { arrows: 0 };
  for (let k = 0; k < 10 && swept.arrows <= 300; ++k) {
    await p.waitForTimeout(300);
    swept = await pixels(await picture(p));
  }
  check(swept.arrows > 300, `arrows along the arm: ${swept.arrows} pixels`);
  await p.screenshot({ path: join(screens, 'playground-dark.png') });
  await outward.click();

  /* ---- moved by slider, by mouse, let go ---- */
  await p.click('#tab-state');
  const slider = p.locator('.joint input').nth(1);
  await slider.focus();
  for (let k = 0; k < 3; ++k) await p.keyboard.press('PageUp');
  await p.waitForFunction(
    (then) =>
      Number.parseFloat(
        document.querySelectorAll('.joint output')[1].textContent.replace('−', '-'),
      ) !== then,
    q[1],
  );
  const moved = await fine(p);
  const by = await apart(before, moved);
  check(by > 0.004, `a slider moves the arm: ${(100 * by).toFixed(1)} % of the picture differ`);

  const at = await pixels(moved);
  const box = await p.locator('#view3 canvas').boundingBox();
  const values = async () => (await p.locator('.joint output').allTextContents()).map(number);
  const rested = await values();
  const held = [box.x + at.x, box.y + at.y];
  await p.mouse.move(held[0], held[1]);
  await p.waitForFunction(() => document.querySelector('#view3 canvas').style.cursor === 'grab');
  await p.mouse.down();
  for (let k = 1; k <= 8; ++k) {
    await p.mouse.move(held[0] + 10 * k, held[1] + 8 * k);
    await p.waitForTimeout(40);
  }
  let pulled = 0;
  for (let k = 0; k < 60 && !(pulled > 0.02); ++k) {
    await p.waitForTimeout(100);
    pulled = Math.max(...(await values()).map((x, i) => Math.abs(x - rested[i])));
  }
  await p.mouse.up();
  check(pulled > 0.02, `a body comes along with the mouse: ${pulled} rad`);
  await p.click('#reset');
  const off = await apart(before, await fine(p));
  check(off < 0.002, `reset puts it back: ${(100 * off).toFixed(2)} % of the picture differ`);
  await p.click('#view3 canvas', { position: { x: 20, y: 300 } });
  await p.keyboard.press('Space');
  await p.waitForFunction(
    () => Number.parseFloat(document.querySelector('#clock').textContent) > 0.5,
  );
  const t = Number.parseFloat(await p.textContent('#clock'));
  const fallen = Math.max(...(await values()).map((x, i) => Math.abs(x - q[i])));
  await p.keyboard.press('Space');
  const stopped = await p.textContent('#clock');
  await p.waitForTimeout(150);
  check(
    t > 0.1 && fallen > 0.05 && (await p.textContent('#clock')) === stopped,
    `let go, it falls (${fallen.toFixed(2)} rad in ${t} s), and stops`,
  );

  /* ---- models of one's own ---- */
  soa(['save', 'planar-chain:3', '-o', join(own, 'mine.soam')]);
  await p.setInputFiles('#file', join(own, 'mine.soam'));
  await p.waitForFunction(
    () => /mine\.soam · 3 degrees/.test(document.querySelector('#text').textContent),
    null,
    { timeout: 20000 },
  );
  check(
    (await p.locator('.joint').count()) === 3 && (await p.inputValue('#machine')) === 'own',
    'a saved model is opened',
  );
  const bytes = readFileSync(join(own, 'mine.soam'));
  bytes[300] ^= 4;
  writeFileSync(join(own, 'bad.soam'), bytes);
  await p.setInputFiles('#file', join(own, 'bad.soam'));
  await p.waitForSelector('.toast');
  check(
    /checksum|damaged/.test(await p.textContent('.toast')),
    `a damaged one is refused: ${await p.textContent('.toast')}`,
  );

  /* ---- other machines, sizes and colours ---- */
  for (const [machine, width, height, scheme] of [
    ['humanoid', 1280, 800, 'light'],
    ['satellite', 390, 844, 'dark'],
    ['random-ideal:330', 390, 844, 'light'],
  ]) {
    await p.setViewportSize({ width, height });
    await p.emulateMedia({ colorScheme: scheme });
    await p.click('#tab-expression');
    await p.selectOption('#machine', machine);
    await p.waitForFunction(
      () =>
        !/Looking/.test(document.querySelector('#outcome').textContent) &&
        document.querySelector('.verdict.good'),
      null,
      { timeout: 20000 },
    );
    check(
      (await results(p)).some((x) => number(x) !== 0),
      `${machine}: its result is not nothing`,
    );
    const sight = await pixels(await fine(p));
    const wide = await p.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(
      sight.seen > 0.002 && wide <= 0,
      `${machine} at ${width} x ${height}, ${scheme}: ${(100 * sight.seen).toFixed(1)} % of the picture`,
    );
    await p.screenshot({ path: join(screens, `playground-${width}-${scheme}.png`) });
  }
  check(
    !complaints.length,
    `nothing on the console, nothing asked of the network ${complaints.slice(0, 3).join(' | ')}`,
  );
} catch (error) {
  check(false, String(error).split('\n').slice(0, 4).join(' '));
  console.log(complaints.join('\n'));
} finally {
  await browser.close();
  rmSync(own, { recursive: true, force: true });
}
console.log(`pictures: ${screens}`);
process.exit(failures ? 1 : 0);
