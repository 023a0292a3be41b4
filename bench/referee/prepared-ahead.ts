/** Candidates that are compiled while one is measured: as many as the optimizer has compiled ahead. */
export const PREPARED_AHEAD = 6;
