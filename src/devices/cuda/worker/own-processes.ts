import { processTree } from '../../../process/process-tree.ts';

/** The parent and all its child processes, including the process of baselines. Looking for them takes milliseconds. */
export class OwnProcesses {
  readonly #look: () => ReadonlySet<number>;
  #known: ReadonlySet<number> = new Set();

  constructor(look: () => ReadonlySet<number> = () => processTree(process.ppid)) {
    this.#look = look;
  }

  /** Ours, looked for anew if one of the listed is not known as ours. */
  among(listed: readonly number[]): ReadonlySet<number> {
    if (!listed.every((pid) => this.#known.has(pid))) this.#known = this.#look();
    return this.#known;
  }
}
