// wasm.mjs MODULE PROGRAM DIRECTORY  the playground's module under node, judged by
//   reference vectors of an independent library (tests/program/test_vectors.py says what they hold and how they differ from ours)
//   the native program: every operator expression gives the same numbers, every wrong one the same message
//   damage: a saved model that was cut, flipped or made up is refused, and the module goes on working
//   its own steps: energy and momentum stay, what is pulled comes along
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, basename } from "node:path";
import { Core } from "../../web/src/playground/core.js";

const [modulePath, program, directory] = process.argv.slice(2);
const reference = process.env.SOA_REFERENCE_DIR || "";
const core = await Core.start(createRequire(import.meta.url)(modulePath));
let failures = 0;
const say = (good, text) => {
  if (!good) ++failures;
  console.log(`${good ? "ok  " : "FAIL"} ${text}`);
};
const native = (words, input = "") => execFileSync(program, words, { input, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["pipe", "pipe", "pipe"] });
const saved = (model, options = []) => {
  const path = join(directory, "model.soam");
  native(["save", model, ...options, "-o", path]);
  return new Uint8Array(readFileSync(path));
};
const apart = (ours, theirs, floor) => {
  if (ours.length !== theirs.length || !theirs.length) return Infinity;
  let most = floor, worst = 0;
  for (let i = 0; i < theirs.length; ++i) {
    if (!Number.isFinite(ours[i])) return Infinity;
    most = Math.max(most, Math.abs(theirs[i]));
    worst = Math.max(worst, Math.abs(ours[i] - theirs[i]));
  }
  return worst / most;
};
const named = (text) => (Array.isArray(text) ? text.flat(Infinity) : [text]);
let seed = 12345;
const random = () => ((seed = (seed * 1103515245 + 12345) % 2147483648) / 1073741824 - 1);

// ---- reference vectors ------------------------------------------------------------------------------------------------
function vectorFile(path) {
  const data = JSON.parse(readFileSync(path, "utf8"));
  const urdf = join(reference, "models", basename(data.urdf));
  const session = core.open(saved(urdf, ["--ideal", ...(data.floating ? ["--floating"] : [])]));
  session.gravity(data.gravity ?? [0, 0, -9.81]);
  const { bodies } = session.scene;
  const v = [], q = []; // their index: ours
  const errors = new Map();
  let comparisons = 0;
  const compare = (what, ours, theirs) => {
    const error = apart(ours, theirs, 1e-3);
    if (!(error <= (errors.get(what) ?? -1))) errors.set(what, error);
    ++comparisons;
  };
  for (const theirs of data.joints) {
    const floating = theirs.type === "floating";
    const body = bodies.find((b) => b.joint && (floating ? b.joint.type === "free" : b.joint.name === theirs.name));
    (floating ? [3, 4, 5, 0, 1, 2] : [...Array(body.joint.nv).keys()]).forEach((own, k) => (v[theirs.idx_v + k] = body.joint.v + own));
    (floating ? [0, 1, 2, 4, 5, 6, 3] : [...Array(body.joint.nq).keys()]).forEach((own, k) => (q[theirs.idx_q_plain + k] = body.joint.q + own));
    const [xx, yy, zz, xy, xz, yz] = body.inertia;
    compare("body", [body.mass, ...body.com, xx, xy, xz, xy, yy, yz, xz, yz, zz], [theirs.mass, ...theirs.com, ...theirs.inertia_com]);
  }
  const n = session.nv;
  if (v.length !== n || q.length !== session.nq) throw new Error("the joints of the two do not match");
  const ours = (theirs, index) => index.reduce((x, own, k) => ((x[own] = theirs[k]), x), new Array(index.length));
  const vector = (x) => v.map((own) => x[own]);
  const swap = (x) => [...x.slice(3, 6), ...x.slice(0, 3)];
  const row = (x, r) => Array.from(x.subarray(r * n, r * n + n));
  const square = (x) => v.flatMap((own) => vector(row(x, own)));
  const last = session.frame(data.last_body);
  for (const sample of data.samples) {
    session.set("q", ours(sample.q_plain, q));
    session.set("v", ours(sample.v, v)), session.set("a", ours(sample.a, v)), session.set("tau", ours(sample.tau, v));
    session.push(-1);
    compare("rnea", vector(session.compute("rnea")), sample.rnea);
    compare("aba", vector(session.compute("aba")), sample.aba);
    compare("bias", vector(session.compute("bias")), sample.nle);
    compare("gravity", vector(session.compute("gravity")), sample.gravity_torque);
    compare("mass", square(session.compute("mass")), sample.M.flat());
    compare("mass_inv", square(session.compute("mass_inv")), sample.Minv.flat());
    const places = session.compute("places");
    data.joints.forEach((joint, k) => {
      const frame = session.frame(joint.child_link);
      compare("pose", Array.from(session.compute("pose", frame)), [...sample.poses[k].R, ...sample.poses[k].p]);
      const body = bodies.findIndex((b) => b.name === joint.child_link);
      if (body < 0) return;
      const [x, y, z, w, i, j, l] = places.subarray(7 * body, 7 * body + 7); // what the page draws
      compare("place", [1 - 2 * (j * j + l * l), 2 * (i * j - l * w), 2 * (i * l + j * w), 2 * (i * j + l * w), 1 - 2 * (i * i + l * l),
        2 * (j * l - i * w), 2 * (i * l - j * w), 2 * (j * l + i * w), 1 - 2 * (i * i + j * j), x, y, z], [...sample.poses[k].R, ...sample.poses[k].p]);
    });
    const J = session.compute("jacobian", last);
    compare("jacobian", swap([0, 1, 2, 3, 4, 5].map((r) => vector(row(J, r)))).flat(), sample.J_last.flat());
    compare("velocity", swap(Array.from(session.compute("velocity", last))), sample.vel_last);
    compare("jdot_v", swap(Array.from(session.compute("jdot_v", last))), sample.Jdotv_last);
    const energy = session.compute("energy");
    compare("kinetic", [energy[0]], [sample.kinetic_energy]);
    compare("potential", [energy[1]], [sample.potential_energy]);
    compare("total mass", [session.scene.mass], [sample.mass]);
    compare("com", Array.from(session.compute("com").subarray(0, 3)), sample.com);
    compare("momentum", swap(Array.from(session.compute("momentum").subarray(0, 6))), sample.centroidal_momentum);
    for (const name of ["daba_dq", "daba_dv", "drnea_dq", "drnea_dv"]) compare(name, square(session.compute(name)), sample[name].flat());
    const push = sample.fext;
    session.push(session.frame(push.body), [...push.moment_world, ...push.force_world]);
    compare("rnea_fext", vector(session.compute("rnea")), sample.rnea_fext);
    compare("aba_fext", vector(session.compute("aba")), sample.aba_fext);
  }
  session.close();
  const [what, worst] = [...errors].reduce((a, b) => (b[1] <= a[1] ? a : b));
  const wrong = [...errors].filter(([, error]) => !(error <= 1e-10)).map(([name, error]) => `${name} ${error.toExponential(1)}`);
  say(!wrong.length, `${basename(path, ".json").padEnd(20)} nv ${n}, ${comparisons} comparisons of ${errors.size} quantities, worst ` +
    `${worst.toExponential(1)} (${what})${wrong.length ? "; not within 1e-10: " + wrong.join(", ") : ""}`);
}

// ---- operator expressions ----------------------------------------------------------------------------------------------
// As written, or first made cheaper, which takes longer and is the same search on every model.
function expressions(model, options, texts, asWritten) {
  const bytes = saved(model, options);
  const session = core.open(bytes);
  const state = { q: Array.from(session.vector("q")) };
  for (const { joint } of session.scene.bodies) {
    if (!joint?.nq) continue;
    for (let k = 0; k < joint.nq; ++k) state.q[joint.q + k] = random();
    const at = joint.type === "spherical" ? joint.q : joint.type === "free" ? joint.q + 3 : -1;
    if (at < 0) continue;
    const length = Math.hypot(...state.q.slice(at, at + 4));
    for (let k = 0; k < 4; ++k) state.q[at + k] /= length;
  }
  for (const name of ["v", "a", "tau", "f0"]) state[name] = Array.from(session.vector(name), random);
  for (const name of Object.keys(state)) session.set(name, state[name]);
  const line = JSON.stringify(state) + "\n", path = join(directory, "model.soam");
  const as = asWritten ? ["--as-written"] : [];
  let worst = 0, dense = 0, count = 0;
  for (const text of texts) {
    const expression = session.expression(text, asWritten);
    const sweeps = session.run(), judged = session.runDense();
    if (!(judged.difference <= dense)) dense = judged.difference;
    const vector = expression.from === "one";
    const told = JSON.parse(native(["op", path, text, ...(vector ? as : ["--dense"])], line));
    const error = apart(sweeps, named(told.result), 1e-3);
    if (!(error <= worst)) worst = error;
    if (!(error <= 1e-12)) console.log(`     ${model} ${text}: ${error.toExponential(1)}`);
    if (vector && !asWritten) {
      const explained = native(["op", path, text, "--explain"]);
      if (explained !== `${expression.expression}\n${expression.explain}`) say(false, `${model}: ${text} is explained in other words`);
    }
    ++count;
  }
  session.close();
  say(worst <= 1e-12, `${model.padEnd(20)} ${count} expressions as the native program, worst ${worst.toExponential(1)}`);
  say(dense <= 1e-9, `${model.padEnd(20)} ${count} expressions by sweeps and by dense arithmetic, worst ${dense.toExponential(1)}`);
}
function mistakes(texts) {
  const session = core.open(saved("arm7"));
  for (const text of texts) {
    let ours = "accepted", theirs = "accepted";
    try {
      session.expression(text);
    } catch (error) {
      ours = error.message;
    }
    try {
      native(["op", "arm7", text, "--explain"]);
    } catch (error) {
      theirs = error.stderr.replace(/^soa op: /, "").trimEnd();
    }
    [ours, theirs] = [ours, theirs].map((m) => m.replace(/ nor one of vars|; own vectors are given with their values/m, ""));
    say(ours === theirs && ours.includes("^"), `mistake ${JSON.stringify(text)}: ${ours.split("\n")[0]}${ours === theirs ? "" : ` | native: ${theirs}`}`);
  }
  session.close();
}

// ---- damage ------------------------------------------------------------------------------------------------------------
function damage() {
  const whole = saved("satellite");
  let tried = 0, taken = 0;
  const attempt = (bytes) => {
    ++tried;
    try {
      core.open(bytes).close();
      ++taken;
    } catch (error) {
      if (!(error instanceof Error) || error instanceof WebAssembly.RuntimeError || !error.message) throw error;
    }
  };
  attempt(new Uint8Array(0)), attempt(new Uint8Array(64)), attempt(new TextEncoder().encode("soamodel"));
  for (let i = 0; i < 200; ++i) attempt(whole.subarray(0, Math.floor((i / 200) * whole.length)));
  for (let i = 0; i < 1000; ++i) { // one bit anywhere, or four bytes of the header
    const bytes = whole.slice();
    if (i % 2) bytes[Math.floor(((random() + 1) / 2) * bytes.length)] ^= 1 << i % 8;
    else new DataView(bytes.buffer).setInt32(8 + 4 * (i % 50), Math.floor(random() * 2147483647), true);
    attempt(bytes);
  }
  for (let i = 0; i < 100; ++i) attempt(Uint8Array.from({ length: 400 }, (_, k) => (k < 8 ? whole[k] : Math.floor((random() + 1) * 128))));
  const again = core.open(whole);
  say(taken === 0 && again.nv === 20, `${tried} damaged or cut buffers, ${taken} taken`);
  again.close();
  const before = core.module.HEAPU8.length;
  for (let i = 0; i < 300; ++i) core.open(whole).close();
  say(core.module.HEAPU8.length === before, "300 models opened and closed leave the memory as it was");
}

// ---- motion ------------------------------------------------------------------------------------------------------------
function motion() {
  for (const model of ["arm7", "satellite", "random-ideal:330"]) { // revolute, free and spherical joints among them
    const session = core.open(saved(model, ["--ideal"]));
    const q0 = Array.from(session.vector("q")), v0 = Array.from({ length: session.nv }, (_, k) => 0.5 * Math.sin(k + 1));
    const after = (dt) => {
      session.set("q", q0), session.set("v", v0);
      session.move(dt, Math.round(0.4 / dt), 0, false);
      return Array.from(session.vector("q"));
    };
    const fine = after(1e-4), errors = [8e-3, 4e-3].map((dt) => apart(after(dt), fine, 1));
    session.set("q", q0), session.set("v", v0);
    const start = session.compute("energy").reduce((a, b) => a + b);
    after(1e-3);
    const lost = Math.abs(session.compute("energy").reduce((a, b) => a + b) - start);
    say(errors[0] / errors[1] > 12 && lost <= 1e-6,
      `${model} let go for 0.4 s: steps half as long are ${(errors[0] / errors[1]).toFixed(1)} times better, energy off by ${lost.toExponential(1)} J`);
    session.close();
  }

  const craft = core.open(saved("satellite", ["--ideal"]));
  craft.set("v", craft.vector("v").map((_, k) => 0.3 * Math.sin(k + 1)));
  const h0 = craft.compute("momentum"), spin = (h) => [...h.subarray(0, 6)];
  craft.move(1e-3, 3000, 0, false);
  const lost = apart(spin(craft.compute("momentum")), spin(h0), 1e-3);
  say(lost <= 1e-8, `satellite drifts for 3 s: momentum kept to ${lost.toExponential(1)}`);
  craft.close();

  const pulled = core.open(saved("puma560", ["--ideal"]));
  const frame = pulled.scene.bodies[6].frame, at = pulled.compute("pose", frame).subarray(9);
  const to = [at[0] - 0.2, at[1] + 0.1, at[2] - 0.15];
  pulled.pull(6, [0, 0, 0], to);
  pulled.move(1e-3, 6000, 2, true);
  const left = apart(pulled.compute("pose", frame).subarray(9), to, 1);
  say(left <= 1e-2, `puma560 pulled by the hand: ${left.toExponential(1)} m away after 6 s`);
  pulled.release();
  pulled.lead(2, 0.7);
  pulled.move(1e-3, 2000, 1, true);
  say(Math.abs(pulled.vector("q")[2] - 0.7) <= 1e-2, `puma560 led by a joint: ${Math.abs(pulled.vector("q")[2] - 0.7).toExponential(1)} rad away after 2 s`);
  pulled.close();
}

const first = core.open(saved("arm7"));
const forms = first.names().forms.map((f) => f.name);
first.close();
const operators = ["Mass", "inv(Mass)", "J inv(Mass) J'", "J", "H phi", "psi' H' inv(D) H psi", "phi", "inv(D)"];
const vectors = ["V", "alpha", "phi' H' thd", "inv(Mass) T", "2 T - H phi b", "J inv(Mass) J' f0", "φ' H' thd"];
if (reference && existsSync(join(reference, "vectors"))) {
  const files = readdirSync(join(reference, "vectors")).filter((name) => name.endsWith(".json") && !name.startsWith("closed_")).sort();
  if (!files.length) say(false, "no reference vectors found");
  for (const name of files) vectorFile(join(reference, "vectors", name));
} else {
  console.log("     no SOA_REFERENCE_DIR: reference vectors left out");
}
for (const model of ["puma560", "arm7", "two-puma", "satellite", "quadruped", "humanoid", "planar-chain:8", "random-ideal:330"])
  expressions(model, ["--ideal"], [...forms.filter((f) => f !== "task_force"), ...operators, ...vectors], true);
expressions("arm7", [], [...forms, "inv(Mass) T", "J inv(Mass) J' f0", ...operators], false);
mistakes(["inv(D) H psi T", "H phi (", "Mas T", "T + V", "inv(H) T", "phi ' ) T"]);
damage();
motion();
console.log(failures ? `${failures} failed` : "all as it should be");
process.exit(failures ? 1 : 0);
