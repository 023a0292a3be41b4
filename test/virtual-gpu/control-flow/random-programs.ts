import { mulberry32 } from '../../../src/stats/random.ts';

/** One program per seed, the same on every machine. */
function generator(seed: number): (below: number) => number {
  const random = mulberry32(seed);
  return (below) => (random() * 2 ** 32) % below;
}

/** Registers with a value per lane (%r0 …), and ones that start alike in all lanes (%r4 …). */
const VARYING = ['%r0', '%r1'];
const ALIKE = ['%r4', '%r5', '%r6'];
/** Loop counters, by nesting depth. */
const COUNTERS = ['%r10', '%r11', '%r12'];
const SCRATCH = '%r20';

/** Where `break` and `continue` go. */
interface Loop {
  header: string;
  exit: string;
  /** Only `continue` leaves the body early. */
  hasNoBreak: boolean;
}

/**
 * Body of a random kernel: nested ifs, loops with breaks and continues that go straight to the header, jump tables,
 * early returns, on conditions that differ between lanes and on ones that do not. Ends with `out[tid] = mix`.
 */
export function randomProgram(seed: number): string {
  return new ProgramWriter(seed).write();
}

class ProgramWriter {
  #random: (below: number) => number;
  #lines: string[] = [];
  #labels = 0;
  #statements = 0;

  constructor(seed: number) {
    this.#random = generator(seed);
  }

  write(): string {
    this.#emit('mov.u32 %r30, %tid.x;', 'mul.lo.u32 %r0, %r30, 2654435761;', 'xor.b32 %r1, %r0, 12345;');
    ALIKE.forEach((register, i) => {
      this.#emit(`mov.u32 ${register}, ${this.#random(1000) + i};`);
    });
    this.#block(0, undefined);
    this.#finish();
    return this.#lines.join('\n');
  }

  /** out[tid] = all registers mixed. */
  #finish(): void {
    this.#emit('mov.u32 %r21, 0;');
    for (const register of [...VARYING, ...ALIKE]) this.#emit(`mad.lo.u32 %r21, %r21, 31, ${register};`);
    this.#emit('mul.wide.u32 %d0, %r30, 4;', 'add.u64 %d0, %out, %d0;', 'st.global.u32 [%d0], %r21;');
  }

  #emit(...lines: string[]): void {
    this.#lines.push(...lines);
  }

  #label(): string {
    return `L${this.#labels++}`;
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#random(items.length)]!;
  }

  #block(depth: number, loop: Loop | undefined): void {
    const count = 1 + this.#random(4);
    for (let i = 0; i < count && this.#statements < 60; i++) {
      this.#statements++;
      this.#statement(depth, loop);
    }
  }

  #statement(depth: number, loop: Loop | undefined): void {
    const kind = this.#random(depth < 3 ? 10 : 4);
    if (kind < 3) this.#assignment();
    else if (kind === 3) this.#escape(loop);
    else if (kind < 6) this.#if(depth, loop);
    else if (kind < 9) this.#loop(depth);
    else this.#switch(depth, loop);
  }

  #assignment(): void {
    const target = this.#pick([...VARYING, ...ALIKE]);
    const source = this.#pick(ALIKE.includes(target) ? ALIKE : [...VARYING, ...ALIKE]);
    this.#emit(`mad.lo.u32 ${target}, ${source}, ${3 + 2 * this.#random(50)}, ${this.#random(1000)};`);
    if (this.#random(3) === 0) this.#emit(`xor.b32 ${target}, ${target}, ${this.#pick([...VARYING, ...ALIKE])};`);
  }

  /** Leaves a condition in %p0; half the time on a register that starts alike in all lanes. */
  #condition(): void {
    const mask = (1 << (1 + this.#random(2))) - 1;
    this.#emit(
      `shr.u32 ${SCRATCH}, ${this.#pick([...VARYING, ...ALIKE])}, ${this.#random(8)};`,
      `and.b32 ${SCRATCH}, ${SCRATCH}, ${mask};`,
      `setp.eq.u32 %p0, ${SCRATCH}, ${this.#random(mask + 1)};`,
    );
  }

  /** break, continue or return, under a condition. */
  #escape(loop: Loop | undefined): void {
    this.#condition();
    if (loop) this.#emit(`@%p0 bra ${loop.hasNoBreak || this.#random(2) === 0 ? loop.header : loop.exit};`);
    else if (this.#random(3) > 0) this.#assignment();
    else {
      const stay = this.#label();
      this.#emit(`@!%p0 bra ${stay};`);
      this.#finish();
      this.#emit('ret;', `${stay}:`);
    }
  }

  #if(depth: number, loop: Loop | undefined): void {
    const [otherwise, end] = [this.#label(), this.#label()];
    this.#condition();
    this.#emit(`@${this.#pick(['', '!'])}%p0 bra ${otherwise};`);
    this.#block(depth + 1, loop);
    this.#emit(`bra ${end};`, `${otherwise}:`);
    if (this.#random(2) === 0) this.#block(depth + 1, loop);
    this.#emit(`${end}:`);
  }

  /** At most five rounds, counted before the body so that `continue` may go to the header. */
  #loop(depth: number): void {
    const loop = { header: this.#label(), exit: this.#label(), hasNoBreak: this.#random(2) === 0 };
    const counter = COUNTERS[depth]!;
    if (this.#random(2) === 0) this.#emit(`mov.u32 ${counter}, ${this.#random(3)};`);
    else this.#emit(`and.b32 ${counter}, ${this.#pick([...VARYING, ...ALIKE])}, 3;`);
    this.#emit(`${loop.header}:`);
    this.#emit(`setp.gt.u32 %p1, ${counter}, 4;`, `@%p1 bra ${loop.exit};`, `add.u32 ${counter}, ${counter}, 1;`);
    this.#block(depth + 1, loop);
    this.#emit(`bra ${loop.header};`, `${loop.exit}:`);
  }

  #switch(depth: number, loop: Loop | undefined): void {
    const cases = Array.from({ length: 4 }, () => this.#label());
    const [table, end] = [this.#label(), this.#label()];
    // Two of the four entries may be the same case.
    const entries = [cases[0], cases[1], cases[2], this.#pick(cases)];
    this.#emit(
      `shr.u32 ${SCRATCH}, ${this.#pick([...VARYING, ...ALIKE])}, ${this.#random(8)};`,
      `and.b32 ${SCRATCH}, ${SCRATCH}, 3;`,
      `${table}: .branchtargets ${entries.join(', ')};`,
      `brx.idx ${SCRATCH}, ${table};`,
    );
    for (const label of cases) {
      this.#emit(`${label}:`);
      this.#block(depth + 1, loop);
      if (this.#random(3) > 0) this.#emit(`bra ${end};`);
    }
    this.#emit(`${end}:`);
  }
}
