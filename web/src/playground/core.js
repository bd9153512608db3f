// libsoa in WebAssembly as objects: a thin cover over apps/playground/playground.h, for the page
// and for node.  Calls that fail throw an Error with the message of the library.

/** @typedef {{additions: number, multiplications: number, divisions: number, sines: number,
 *  on: string}} Count */
/** @typedef {{given: string, form: string, what: string, from: string, to: string,
 *  causality: string, rows: number, columns: number, steps: {rule: string, result: string}[],
 *  expression: string, planned: boolean, sweeps: number, recursions: number, message: string,
 *  explain: string, count?: Count}} Expression */
/** @typedef {{forms: {name: string, text: string, what: string}[],
 *  leaves: {name: string, what: string}[]}} Names */

export class Core {
  /** @param {any} module what the factory of playground.js resolves to */
  constructor(module) {
    this.module = module;
  }
  /** @param {() => Promise<any>} factory */
  static async start(factory) {
    return new Core(await factory());
  }
  get version() {
    return this.text(this.module._play_version());
  }
  /** @param {number} at */
  text(at) {
    return this.module.UTF8ToString(at);
  }
  message() {
    return this.text(this.module._play_message());
  }
  /**
   * Calls `use` with the address of a copy.
   * @template T @param {Uint8Array} bytes @param {(at: number) => T} use @returns {T}
   */
  lend(bytes, use) {
    const at = this.module._malloc(bytes.length + 1);
    if (!at) throw new Error('out of memory');
    try {
      this.module.HEAPU8.set(bytes, at);
      this.module.HEAPU8[at + bytes.length] = 0;
      return use(at);
    } finally {
      this.module._free(at);
    }
  }
  /** @template T @param {string} text @param {(at: number) => T} use @returns {T} */
  lendText(text, use) {
    return this.lend(new TextEncoder().encode(text), use);
  }
  /** A saved model (what `soa save` writes). @param {Uint8Array} bytes */
  open(bytes) {
    const at = this.lend(bytes, (from) => this.module._play_open(from, bytes.length));
    if (!at) throw new Error(this.message());
    return new Session(this, at);
  }
}

export class Session {
  /** @param {Core} core @param {number} at */
  constructor(core, at) {
    this.core = core;
    this.at = at;
    this.scene = this.readScene();
    this.nq = this.scene.nq;
    this.nv = this.scene.nv;
  }
  get m() {
    return this.core.module;
  }
  close() {
    this.m._play_close(this.at);
    this.at = 0;
  }
  /** @param {number} result */
  check(result) {
    if (result < 0) throw new Error(this.core.message());
    return result;
  }
  /** @param {number} at @returns {string} */
  checkText(at) {
    if (!at) throw new Error(this.core.message());
    return this.core.text(at);
  }
  /** @param {number} at @param {number} count a view, good until the next call */
  view(at, count) {
    return new Float64Array(this.m.HEAPF64.buffer, at, count);
  }
  readScene() {
    return JSON.parse(this.checkText(this.m._play_scene(this.at)));
  }
  /** The names of algorithms and operators. @returns {Names} */
  names() {
    return JSON.parse(this.checkText(this.m._play_forms(this.at)));
  }

  /** The state: a view that may be written. @param {"q" | "v" | "a" | "tau" | "f0"} name */
  vector(name) {
    const at = this.core.lendText(name, (text) => this.m._play_vector(this.at, text));
    if (!at) throw new Error(`no vector '${name}'`);
    if (name === 'q') return this.view(at, this.nq);
    return this.view(at, name === 'f0' ? 6 * this.scene.tips.length : this.nv);
  }
  /** @param {"q" | "v" | "a" | "tau" | "f0"} name @param {ArrayLike<number>} value */
  set(name, value) {
    const to = this.vector(name);
    if (value.length !== to.length)
      throw new Error(`${name}: ${to.length} numbers are needed, not ${value.length}`);
    to.set(value);
  }
  /** @param {string} name */
  frame(name) {
    return this.core.lendText(name, (text) => this.m._play_frame(this.at, text));
  }
  /** @param {ArrayLike<number>} g */
  gravity(g) {
    this.check(this.m._play_gravity(this.at, g[0], g[1], g[2]));
  }
  /** @param {number[]} frames */
  tips(frames) {
    this.check(
      this.core.lend(new Uint8Array(Int32Array.from(frames).buffer), (at) =>
        this.m._play_tips(this.at, at, frames.length),
      ),
    );
    this.scene.tips = frames;
  }
  /**
   * @param {number} frame
   * @param {number[]} wrench moment and force in world axes, at the frame's origin
   */
  push(frame, wrench = [0, 0, 0, 0, 0, 0]) {
    this.check(this.m._play_push(this.at, frame, ...wrench));
  }
  /** A quantity of the state. @param {string} name @param {number} frame */
  compute(name, frame = -1) {
    const count = this.check(
      this.core.lendText(name, (text) => this.m._play_compute(this.at, text, frame)),
    );
    return this.view(this.m._play_numbers(this.at), count).slice();
  }
  /** Forward dynamics, again and again. @param {number} count */
  repeat(count) {
    this.check(this.m._play_repeat(this.at, count));
  }

  /** @param {number} dt @param {number} count @param {number} decay @param {boolean} floats */
  move(dt, count, decay, floats) {
    this.check(this.m._play_move(this.at, dt, count, decay, floats ? 1 : 0));
  }
  /**
   * @param {number} body
   * @param {ArrayLike<number>} at in the body
   * @param {ArrayLike<number>} to in the world
   */
  pull(body, at, to) {
    this.check(this.m._play_pull_body(this.at, body, at[0], at[1], at[2], to[0], to[1], to[2]));
  }
  /** @param {number} q @param {number} to */
  lead(q, to) {
    this.check(this.m._play_lead_joint(this.at, q, to));
  }
  release() {
    this.m._play_release(this.at);
  }

  /** @param {string} text @param {boolean} asWritten @returns {Expression} */
  expression(text, asWritten = false) {
    return JSON.parse(
      this.checkText(
        this.core.lendText(text, (at) => this.m._play_expression(this.at, at, asWritten ? 1 : 0)),
      ),
    );
  }
  /** By sweeps. */
  run() {
    const count = this.check(this.m._play_run(this.at));
    return this.view(this.m._play_numbers(this.at), count).slice();
  }
  /** By dense arithmetic, right after run(); difference: the largest one, relative to the largest
   *  number. */
  runDense() {
    const count = this.check(this.m._play_run_dense(this.at));
    return {
      numbers: this.view(this.m._play_dense_numbers(this.at), count).slice(),
      difference: /** @type {number} */ (this.m._play_difference(this.at)),
    };
  }
}
