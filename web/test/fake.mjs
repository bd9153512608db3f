// A made-up run in the messages of docs/view-protocol.md, to try the page without the program: two
// arms reach for a turning box, touch it, hold it and move it.  `report` writes the run into a
// page, `serve` serves it on a socket.
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { WebSocketServer } from 'ws';

/* ---- quaternions (w x y z) and places ---- */
const mul = (a, b) => [
  a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
  a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
  a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
  a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
];
const turn = (q, v) => mul(mul(q, [0, ...v]), [q[0], -q[1], -q[2], -q[3]]).slice(1);
const about = (axis, angle) => [Math.cos(angle / 2), ...axis.map((x) => x * Math.sin(angle / 2))];
const join = (a, b) => [
  ...turn(a.slice(3), b.slice(0, 3)).map((x, i) => x + a[i]),
  ...mul(a.slice(3), b.slice(3)),
];

/* ---- the machine ---- */
const axes = [
  [0, 0, 1],
  [0, 1, 0],
  [0, 1, 0],
  [1, 0, 0],
  [0, 1, 0],
  [1, 0, 0],
];
const offsets = [
  [0, 0, 0.2],
  [0, 0, 0.15],
  [0.45, 0, 0],
  [0.2, 0, 0],
  [0.22, 0, 0],
  [0.1, 0, 0],
];
export const phases = ['approach', 'contact', 'capture', 'move', 'hold'];
const changes = [0, 8, 13, 18, 30];
const phaseAt = (t) => changes.reduce((p, c, i) => (t >= c ? i : p), 0);
export const joints = 12;

export function makeScene({
  live = false,
  duration = 40,
  samples = 2001,
  source,
  extra = 0,
  closed = false,
} = {}) {
  const unit = [1, 0, 0, 0];
  const bodies = [
    {
      name: 'world',
      part: '',
      parent: -1,
      place: [0, 0, 0, ...unit],
      mass: 0,
      com: [0, 0, 0],
      inertia: [0, 0, 0, 0, 0, 0],
      joint: null,
    },
  ];
  const shapes = [
    {
      name: 'base',
      group: 'base',
      body: 0,
      place: [0, 0, 0.1, ...unit],
      role: 'visual',
      type: 'box',
      half: [0.18, 0.5, 0.1],
      radius: 0,
    },
  ];
  for (const [side, y] of [
    ['left', 0.35],
    ['right', -0.35],
  ])
    for (let k = 0; k < 6; ++k) {
      const parent = k ? bodies.length - 1 : 0;
      const at = k ? offsets[k] : [0, y, 0.2];
      bodies.push({
        name: `robot.${side}_link${k + 1}`,
        part: 'robot',
        parent,
        place: [...at, ...unit],
        mass: 10 - k,
        com: k === 2 ? [0.1, 0, 0] : [0.05, 0, 0.02],
        inertia: [1, 1, 1, 0, 0, 0],
        joint: {
          name: `robot.${side}_joint${k + 1}`,
          type: 'revolute',
          axis: axes[k],
          q: bodies.length - 1,
          nq: 1,
          v: bodies.length - 1,
          nv: 1,
          lower: k === 5 ? undefined : -2.8,
          upper: k === 5 ? undefined : 2.8,
          unit: 'rad',
        },
      });
    }
  for (const hand of [6, 12])
    for (let f = 0; f < 3; ++f) {
      const a = (2 * Math.PI * f) / 3;
      shapes.push({
        name: `finger${hand}${f}`,
        group: 'finger',
        body: hand,
        place: [0.1, 0.05 * Math.cos(a), 0.05 * Math.sin(a), ...about([0, 1, 0], Math.PI / 2)],
        role: 'contact',
        type: 'capsule',
        half: [0, 0, 0.04],
        radius: 0.014,
      });
    }
  bodies.push({
    name: 'satellite',
    part: 'satellite',
    parent: 0,
    place: [0, 0, 0, ...unit],
    mass: 300,
    com: [0, 0, 0],
    inertia: [12, 12, 12, 0, 0, 0],
    joint: { name: 'satellite', type: 'free', q: 12, nq: 7, v: 12, nv: 6 },
  });
  shapes.push({
    name: 'hull',
    group: 'hull',
    body: 13,
    place: [0, 0, 0, ...unit],
    role: 'contact',
    type: 'box',
    half: [0.16, 0.3, 0.22],
    radius: 0,
  });
  shapes.push({
    name: 'dish',
    group: 'dish',
    body: 13,
    place: [0.25, 0, 0, ...about([0, 1, 0], Math.PI / 2)],
    role: 'visual',
    type: 'cylinder',
    half: [0, 0, 0.03],
    radius: 0.16,
    colour: [0.85, 0.87, 0.9],
  });
  shapes.push({
    name: 'hull',
    group: 'hull',
    body: 13,
    place: [0, 0, 0, ...unit],
    role: 'visual',
    type: 'hull',
    half: [0, 0, 0],
    radius: 0,
    vertices: [
      [-0.16, -0.3, -0.22],
      [0.16, -0.3, -0.22],
      [0.16, 0.3, -0.22],
      [-0.16, 0.3, -0.22],
      [-0.16, -0.3, 0.22],
      [0.16, -0.3, 0.22],
      [0.16, 0.3, 0.22],
      [-0.16, 0.3, 0.22],
    ],
    faces: [
      [3, 2, 1, 0],
      [4, 5, 6, 7],
      [0, 1, 5, 4],
      [1, 2, 6, 5],
      [2, 3, 7, 6],
      [3, 0, 4, 7],
    ],
  });
  shapes.push({
    name: 'ball',
    group: 'ball',
    body: 13,
    place: [0, 0, 0.27, ...unit],
    role: 'visual',
    type: 'sphere',
    half: [0, 0, 0],
    radius: 0.05,
  });
  const names = bodies.filter((b) => b.joint?.nq === 1).map((b) => b.joint.name);
  const signals = [
    ...names.map((n) => ({ name: `q.${n}`, unit: 'rad' })),
    ...['x', 'y', 'z', 'qw', 'qx', 'qy', 'qz'].map((n, i) => ({
      name: `q.satellite.${n}`,
      unit: i < 3 ? 'm' : '',
    })),
    ...names.map((n) => ({ name: `v.${n}`, unit: 'rad/s' })),
    ...names.map((n) => ({ name: `tau.${n}`, unit: 'N m' })),
    ...['kinetic', 'potential', 'contacts', 'supplied', 'dissipated'].map((n) => ({
      name: `energy.${n}`,
      unit: 'J',
    })),
    { name: 'momentum.angular_error', unit: 'N m s' },
    { name: 'momentum.linear_error', unit: 'N s' },
    ...['finger', 'hull'].flatMap((g) => [
      { name: `contact.${g}.points`, unit: '' },
      { name: `contact.${g}.pressure`, unit: 'N' },
      { name: `contact.${g}.friction`, unit: 'N' },
    ]),
    ...names.map((n) => ({ name: `sensor.q.${n}`, unit: 'rad' })),
    ...names.map((n) => ({ name: `sensor.v.${n}`, unit: 'rad/s' })),
    { name: 'control.phase', unit: '' },
    { name: 'object.position_error', unit: 'm' },
    { name: 'object.attitude_error', unit: 'rad' },
    { name: 'object.internal_force', unit: 'N' },
    ...Array.from({ length: extra }, (_, i) => ({ name: `other.number${i}`, unit: '' })),
  ];
  return {
    kind: 'scene',
    version: 1,
    title: 'grapple',
    text: 'two arms catch a drifting, tumbling satellite, bring it to rest and hold it <a fake run>',
    source: source ?? (live ? 'scenario' : 'log'),
    live,
    bodies,
    shapes,
    frames: [
      { name: 'robot.left_hand', body: 6, place: [0.14, 0, 0, ...unit] },
      { name: 'robot.right_hand', body: 12, place: [0.14, 0, 0, ...unit] },
    ],
    constraints: closed
      ? [
          {
            name: 'loop',
            joint: 'revolute',
            body_a: 3,
            place_a: [0.3, 0, 0.9, ...unit],
            body_b: 0,
            place_b: [0, 0, 1, ...unit],
          },
          { name: 'of an older program', body_a: 3, body_b: 9 },
        ]
      : [],
    signals,
    phases,
    time: { first: 0, last: live ? 0 : duration, samples: live ? 1 : samples, tick: 0.002 },
    events: live
      ? []
      : [
          ...changes
            .slice(1)
            .map((t, i) => ({ t, kind: 'phase', text: `${phases[i]} -> ${phases[i + 1]}` })),
          ...[0, 1, 2, 3, 4, 5].map((k) => ({
            t: 10 + 0.4 * k,
            kind: 'touch',
            text: `finger ${k} on hull`,
          })),
        ]
          .filter((e) => e.t <= duration)
          .sort((a, b) => a.t - b.t),
    notes: live
      ? []
      : [
          "link 'left_link3': mesh 'left_link3.stl' is not there <a note>",
          "link 'left_link4': mesh 'left_link4.stl' is not there",
        ],
    summary: live
      ? []
      : [
          ['satellite held', 'yes'],
          ['worst position error', '1.01 mm'],
          ['worst attitude error', '0.12 deg'],
          ['samples', String(samples)],
        ],
    scenario:
      '# a fake scenario\nname: grapple\ntext: two arms & a <box>\nparts:\n  - name: robot\n    model: two-arms\n',
    q: qAt(0),
  };
}

export function qAt(t) {
  const s = Math.min(1, t / 9);
  const ease = s * s * (3 - 2 * s);
  const wave = 0.12 * Math.sin(0.7 * Math.max(0, t - 18));
  const arm = (sign) => [
    sign * (0.9 - 1.0 * ease),
    -1.1 + 0.55 * ease + wave,
    1.9 - 0.95 * ease - wave,
    sign * 0.3 * ease,
    -0.6 + 0.3 * ease,
    (sign * 0.4 * t) / 10,
  ];
  return [...arm(1), ...arm(-1)];
}
const satelliteAt = (t) => {
  const s = Math.min(t, 13);
  const m = Math.max(0, Math.min(1, (t - 18) / 10));
  const e = m * m * (3 - 2 * m);
  return [
    0.98 - 0.004 * s - 0.1 * e,
    0.02 * Math.sin(0.3 * s),
    0.48 + 0.004 * s + 0.12 * e,
    ...about([0, 0, 1], 0.25 - 0.25 * Math.min(1, s / 13) + 0.35 * e),
  ];
};

export function poseAt(scene, t, q = qAt(t), satellite = satelliteAt(t)) {
  const places = [[0, 0, 0, 1, 0, 0, 0]];
  for (let i = 1; i < scene.bodies.length; ++i) {
    const b = scene.bodies[i];
    places.push(
      b.joint.type === 'free'
        ? satellite
        : join(join(places[b.parent], b.place), [0, 0, 0, ...about(b.joint.axis, q[b.joint.q])]),
    );
  }
  return places;
}

/* ---- bytes ---- */
export function frameBytes(scene, t, id = 0, q, contactsOn = t > 10) {
  const places = poseAt(scene, t, q);
  const contacts = [];
  const lines = [];
  const sat = places[13];
  for (let f = 0; f < 6; ++f) {
    const side = f < 3 ? 1 : -1;
    const at = turn(sat.slice(3), [-0.1 + 0.08 * (f % 3), side * 0.3, 0.1 * ((f % 3) - 1)]).map(
      (x, i) => x + sat[i],
    );
    const force = turn(sat.slice(3), [
      3 * Math.sin(t + f),
      side * (18 + 6 * Math.sin(2 * t + f)),
      4,
    ]);
    if (contactsOn && t > 10 + 0.4 * f) contacts.push([...at, ...force, f + 1, 7]);
    else
      lines.push([
        ...at,
        ...at.map((x, i) => x + (i === 1 ? side * 0.02 * Math.max(0.5, 10 - t) : 0)),
        0.02 * Math.max(0.5, 10 - t),
      ]);
  }
  const floats = [
    ...places.flat(),
    sat[0] * 0.8,
    sat[1],
    sat[2],
    -2 + t / 10,
    1,
    0.5,
    0,
    0.2,
    1.5,
    ...contacts.flat(),
    ...lines.flat(),
  ];
  const out = Buffer.alloc(32 + 4 * floats.length);
  out.writeUInt32LE(1, 0);
  out.writeUInt32LE(id, 4);
  out.writeDoubleLE(t, 8);
  out.writeInt32LE(phaseAt(t), 16);
  out.writeUInt32LE(places.length, 20);
  out.writeUInt32LE(contacts.length, 24);
  out.writeUInt32LE(lines.length, 28);
  floats.forEach((x, i) => out.writeFloatLE(x, 32 + 4 * i));
  return out;
}
export function valueAt(scene, i, t, q = qAt(t)) {
  const name = scene.signals[i].name;
  const k = name.match(/joint(\d)/);
  const touching = Math.max(0, Math.min(6, Math.floor((t - 10) / 0.4) + 1));
  if (name.startsWith('q.satellite'))
    return satelliteAt(t)[['x', 'y', 'z', 'qw', 'qx', 'qy', 'qz'].indexOf(name.split('.')[2])];
  if (name.startsWith('q.')) return q[i];
  if (name === 'control.phase') return phaseAt(t);
  if (name.endsWith('.points')) return touching;
  if (name.endsWith('.pressure')) return touching * (19 + 3 * Math.sin(2 * t) + Math.sin(173 * t));
  if (name.endsWith('.friction')) return touching * 4 * Math.abs(Math.sin(t));
  if (name === 'object.position_error')
    return t < 13 ? NaN : 0.001 + 0.03 * Math.exp(-(t - 13) / 4);
  if (name === 'object.attitude_error')
    return t < 13 ? NaN : 0.002 + 0.05 * Math.exp(-(t - 13) / 3);
  if (name.startsWith('momentum')) return 1e-9 * t * (1 + 0.2 * Math.sin(31 * t));
  return Math.sin(0.4 * t + i) * (k ? 7 - Number(k[1]) : 3) + 0.15 * Math.sin(61 * t + i);
}
export function samplesBytes(scene, signals, times, id = 0, more = 0, value = valueAt) {
  const s = signals.length;
  const head = 24 + 4 * (s + (s & 1));
  const out = Buffer.alloc(head + 8 * times.length * (s + 1));
  [3, id, times.length, s, more, 0].forEach((x, i) => out.writeUInt32LE(x, 4 * i));
  signals.forEach((x, i) => out.writeUInt32LE(x, 24 + 4 * i));
  times.forEach((t, k) => {
    out.writeDoubleLE(t, head + 8 * k);
    signals.forEach((x, i) =>
      out.writeDoubleLE(value(scene, x, t), head + 8 * (times.length + k * s + i)),
    );
  });
  return out;
}
export function overviewBytes(
  scene,
  signals,
  t0,
  t1,
  columns,
  id = 0,
  value = valueAt,
  end = Infinity,
) {
  const s = signals.length;
  const head = 32 + 4 * (s + (s & 1));
  const out = Buffer.alloc(head + 8 * s * columns);
  [2, id, columns, s].forEach((x, i) => out.writeUInt32LE(x, 4 * i));
  out.writeDoubleLE(t0, 16);
  out.writeDoubleLE(t1, 24);
  signals.forEach((x, i) => {
    out.writeUInt32LE(x, 32 + 4 * i);
    for (let c = 0; c < columns; ++c) {
      const at = [0.1, 0.4, 0.6, 0.9]
        .map((u) => t0 + ((c + u) * (t1 - t0)) / columns)
        .filter((t) => t >= 0 && t <= end)
        .map((t) => value(scene, x, t));
      out.writeFloatLE(at.length ? Math.min(...at) : NaN, head + 4 * (i * columns + c));
      out.writeFloatLE(
        at.length ? Math.max(...at) : NaN,
        head + 4 * (s * columns + i * columns + c),
      );
    }
  });
  return out;
}

/* ---- a report ---- */
export function report(
  page,
  { long = false, duration = 40, samples = 2001, frames = 801, extra = 0, bodies = true } = {},
) {
  const scene = makeScene({ duration, samples, extra });
  const all = scene.signals.map((_, i) => i);
  const messages = [];
  if (!bodies)
    Object.assign(scene, {
      bodies: [],
      shapes: [],
      frames: [],
      text: 'the scenario cannot be opened any more',
    });
  for (let k = 0; bodies && k < frames; ++k)
    messages.push(frameBytes(scene, (duration * k) / (frames - 1)));
  messages.push(
    long
      ? overviewBytes(scene, all, 0, duration, 2000)
      : samplesBytes(
          scene,
          all,
          Array.from({ length: samples }, (_, k) => (duration * k) / (samples - 1)),
        ),
  );
  const data = Buffer.concat(
    messages.flatMap((m) => {
      const head = Buffer.alloc(8);
      head.writeUInt32LE(m.length, 0);
      return [head, m, Buffer.alloc((8 - (m.length % 8)) % 8)];
    }),
  );
  const json = JSON.stringify(scene).replace(/</g, '\\u003c');
  return page.replace(
    '</body>',
    () =>
      `<script type="application/json" id="soa-scene">${json}</script>\n<script type="text/plain" id="soa-data">${data.toString('base64')}</script>\n</body>`,
  );
}

/* ---- a server ---- */
export function serve(
  pageFile,
  { live = true, port = 0, duration = 40, samples = 2001, source, closed = false, log = [] } = {},
) {
  const http = createServer((request, response) => {
    if (new URL(request.url, 'http://x').pathname !== '/') return response.writeHead(404).end();
    response
      .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
      .end(readFileSync(pageFile));
  });
  const sockets = new WebSocketServer({
    server: http,
    path: '/socket',
    handleProtocols: (p) => (p.has('soa-view-1') ? 'soa-view-1' : false),
  });
  const scene = makeScene({ live, duration, samples, source, closed });
  const run = { playing: false, speed: 1, t: 0, last: 0, q: qAt(0), moved: new Map() };
  const qNow = (t) => qAt(t).map((x, i) => run.moved.get(i) ?? x);
  const end = () => (live ? run.last : duration);
  const state = () =>
    JSON.stringify({
      kind: 'state',
      live,
      playing: run.playing,
      speed: run.speed,
      t: run.t,
      first: 0,
      last: end(),
      phase: phases[phaseAt(run.t)],
      factor: run.playing ? run.speed : 0,
      ended: false,
    });
  const each = (f) => sockets.clients.forEach((s) => s.readyState === 1 && f(s));
  const tell = () => each((s) => s.send(state()));
  const push = () =>
    each((s) => s.bufferedAmount === 0 && s.send(frameBytes(scene, run.t, 0, qNow(run.t))));
  const timer = setInterval(() => {
    if (!run.playing) return;
    run.t += 0.02 * (run.speed || 10);
    run.last = run.t;
    push();
  }, 20);
  const slow = setInterval(() => run.playing && tell(), 200);
  sockets.on('connection', (s) => {
    s.send(JSON.stringify(scene));
    s.send(state());
    if (live) s.send(frameBytes(scene, run.t, 0, qNow(run.t)));
    s.on('message', (data, binary) => {
      if (binary || data.length > 4096) return;
      const m = JSON.parse(String(data));
      log.push(m);
      const value = (sc, i, t) => valueAt(sc, i, t, qNow(t));
      switch (m.do) {
        case 'frame':
          return s.send(frameBytes(scene, Math.min(end(), Math.max(0, m.t)), m.id, qNow(m.t)));
        case 'overview':
          return s.send(overviewBytes(scene, m.signals, m.t0, m.t1, m.columns, m.id, value, end()));
        case 'samples': {
          const step = live ? 0.01 : duration / (samples - 1);
          const times = [];
          for (
            let k = Math.ceil(Math.max(0, m.t0) / step - 1e-9);
            k * step <= Math.min(end(), m.t1) + 1e-12;
            ++k
          )
            times.push(k * step);
          return s.send(samplesBytes(scene, m.signals, times, m.id, 0, value));
        }
        case 'play':
          run.playing = true;
          break;
        case 'pause':
          run.playing = false;
          break;
        case 'step':
          run.t += 0.002 * (m.count ?? 1);
          run.last = run.t;
          push();
          break;
        case 'speed':
          run.speed = m.value;
          break;
        case 'reset':
          run.t = 0;
          run.last = 0;
          run.playing = false;
          run.moved.clear();
          push();
          break;
        case 'joint':
          if (m.value === undefined) break;
          run.moved.set(m.q, m.value);
          push();
          break;
        case 'pull':
        case 'release':
          push();
          break;
        default:
          return s.send(JSON.stringify({ kind: 'error', text: `unknown: ${m.do}` }));
      }
      tell();
    });
  });
  return new Promise((resolve) =>
    http.listen(port, '127.0.0.1', () =>
      resolve({
        url: `http://127.0.0.1:${http.address().port}/`,
        run,
        log,
        scene,
        say: (x) => each((s) => s.send(x)),
        drop: () => sockets.clients.forEach((s) => s.terminate()),
        close: () =>
          new Promise((done) => {
            clearInterval(timer);
            clearInterval(slow);
            sockets.clients.forEach((s) => s.terminate());
            sockets.close(() => http.close(done));
          }),
      }),
    ),
  );
}
