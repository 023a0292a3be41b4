import type { WarpsmithError } from '../../../core/errors.ts';

export interface ReferenceLimits {
  /** Wall-clock limit of loading the module. */
  readonly loadTimeoutMs: number;
  /** Wall-clock limit of one run. */
  readonly timeoutMs: number;
  /** Resident memory of one process. */
  readonly memoryBytes: number;
  /** Processes at once. */
  readonly processes: number;
}

/** Where a reference's module lies. */
export interface ReferencePlace {
  /** As in messages. */
  readonly problem: string;
  /** Absolute path of the module, symbolic links resolved. */
  readonly file: string;
  /** Folder that the module may read: its own. */
  readonly folder: string;
}

/** A program with its whole environment. */
export interface ReferenceCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A module that could not be loaded. */
export interface NotLoaded {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  /** A module that it imports and that is not there. */
  readonly missingModule?: string;
}

/** The language of a reference: the program that confines a module and runs it, and how to speak of its mistakes. */
export interface ReferenceProgram {
  readonly loadTimeoutMs: number;
  /** Whether inputs come in their shapes, not flat. */
  readonly takesShapes: boolean;
  /** Whether its process keeps inputs for its next run, and perturbs them. */
  readonly keepsInputs: boolean;
  /** @throws WarpsmithError if the machine lacks what runs it. */
  command(place: ReferencePlace, limits: ReferenceLimits): Promise<ReferenceCommand>;
  notLoaded(place: ReferencePlace, answer: NotLoaded): WarpsmithError;
  /** Name of the optional function that computes single rows. */
  readonly rowsFunction: string;
  /** Name of the one that computes them where inputs are sparse only. Absent if its process takes no sparse inputs. */
  readonly sparseRowsFunction?: string;
  /** How a module declares its `reference`. */
  readonly declaration: string;
  readonly example: string;
  /** Whether this was written by a process without memory. */
  isOutOfMemory(stderr: string): boolean;
  /** `line` or `line:column` of the innermost frame in the file. */
  placeIn(stack: string, file: string): string | undefined;
}
