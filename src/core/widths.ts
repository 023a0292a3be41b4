import type { SourceLocation } from './compiled-code.ts';
import type { LoadedModule } from './device-values.ts';

/** Where a kernel keeps whole numbers in so many bits. */
export interface WidthSite {
  readonly place: SourceLocation;
  /** e.g. `whole numbers of 32 bits`. */
  readonly holds: string;
  /** From these magnitudes on it holds no more of them, the least first: with a sign and without. */
  readonly ends: readonly number[];
}

/** What a copy of a module keeps about the magnitudes of whole numbers. */
export interface WidthLog {
  /** To be run in the module's place, and unloaded. */
  readonly module: LoadedModule;
  readonly sites: readonly WidthSite[];
  /** The largest magnitude that each site had for any thread since this was asked last; 0 where nothing was computed. */
  take(): number[];
}
