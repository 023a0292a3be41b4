/** What is the same on every GPU of NVIDIA. */

/** Lanes of a warp. */
export const LANES_PER_WARP = 32;
/** Bytes of a sector, the unit of L1, L2 and DRAM traffic. */
export const SECTOR_BYTES = 32;
export const SECTORS_PER_LINE = 4;
/** Bytes of a cache line, which L1 looks up and delivers at a time. */
export const LINE_BYTES = SECTORS_PER_LINE * SECTOR_BYTES;
