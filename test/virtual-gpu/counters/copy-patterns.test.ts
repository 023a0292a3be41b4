import { describe, expect, it } from 'vitest';
import { DEVICE_MEMORY_MAXIMUM_PAGES, LANES, WINDOW } from '../../../src/virtual-gpu/layout.ts';
import { CopyPatterns } from '../../../src/virtual-gpu/runtime/copy-patterns.ts';
import { createLaneCopier } from '../../../src/virtual-gpu/runtime/lane-copier.ts';
import { addRequest, noSiteRequests } from '../../../src/virtual-gpu/runtime/site-requests.ts';

const BYTES = 16;
const SHARED_BYTES = 65_536;
/** Where registers hold targets and sources. */
const [TARGETS, SOURCES] = [1024, 2048];

/** By lane, multiples of 16 bytes. */
type Way = (lane: number) => { target: number; source: number };

const row: Way = (lane) => ({ target: lane, source: lane });
/** Rows of four lanes, eight of which have all banks where each is turned by its number. */
const turned: Way = (lane) => ({
  target: (lane & ~3) | ((lane ^ (lane >> 2)) & 3),
  source: (lane >> 2) * 64 + (lane & 3),
});
const column: Way = (lane) => ({ target: lane * 8, source: lane * 100 });
const backwards: Way = (lane) => ({ target: 31 - lane, source: 31 - lane });

/** A copier, and an instruction whose copies it prepares. */
function instruction() {
  const memory = new WebAssembly.Memory({ initial: 4 });
  const device = new WebAssembly.Memory({ initial: 1, maximum: DEVICE_MEMORY_MAXIMUM_PAGES, shared: true });
  const copier = createLaneCopier(memory, device);
  const shape = copier.placeForShape();
  const words = new Uint32Array(memory.buffer);
  const operands = {
    target: TARGETS,
    targetOffset: 0,
    source: SOURCES,
    sourceOffset: 0,
    bytes: BYTES,
    taken: undefined,
  };
  return (way: Way, target: number, source: number) => {
    for (let lane = 0; lane < LANES; lane++) {
      const place = way(lane);
      words[TARGETS / 4 + lane] = target + place.target * BYTES;
      words[SOURCES / 4 + 2 * lane] = source + place.source * BYTES;
      words[SOURCES / 4 + 2 * lane + 1] = WINDOW.global;
    }
    return copier.prepare({ ...operands, shape }, 0, SHARED_BYTES)!;
  };
}

/** What the requests of a copy count by themselves. */
function countedAnew(words: Uint32Array) {
  const sums = noSiteRequests();
  const request = { lanes: Array.from({ length: LANES }, (_, lane) => lane), bytes: BYTES };
  const [targets, sources] = [[...words.slice(0, LANES)], [...words.slice(LANES, 2 * LANES)]];
  addRequest(sums, { ...request, space: 'global', kind: 'load', addresses: sources });
  addRequest(sums, { ...request, space: 'shared', kind: 'store', addresses: targets });
  return { global: sums['global-load'], shared: sums['shared-store'] };
}

describe('a copy that lies as one before', () => {
  it('is known by the places of lanes beside each other', () => {
    const prepare = instruction();
    expect(prepare(row, 0, 0).liesAsBefore).toBe(false);
    expect(prepare(row, 512, 4096).liesAsBefore).toBe(true);
    expect(prepare(column, 512, 4096).liesAsBefore).toBe(false);
    expect(prepare((lane) => ({ ...column(lane), target: lane }), 512, 4096).liesAsBefore).toBe(false);
    expect(prepare(row, 512, 4096).liesAsBefore).toBe(false);
    expect(prepare(row, 512, 4096).liesAsBefore).toBe(true);
  });

  it('is not one whose lanes are 2 GiB apart: another one has the same differences of 32 bits', () => {
    const prepare = instruction();
    const far: Way = (lane) => ({ target: lane, source: lane === 0 ? 0 : 0xc00_0000 });
    prepare(far, 0, 0);
    expect(prepare(far, 0, 16).liesAsBefore).toBe(false);
  });

  it('costs what counting it anew gives, wherever it begins', () => {
    const [prepare, patterns] = [instruction(), new CopyPatterns(BYTES)];
    const ways = [row, row, turned, row, column, column, backwards, turned];
    let found = 0;
    for (let step = 0; step < 200; step++) {
      // Some steps in a row lie as before, of which some begin elsewhere in a line.
      const way = ways[Math.floor(step / 5) % ways.length]!;
      const prepared = prepare(way, (step % 3) * 4096, Math.floor(step / 2) * 64);
      const pattern = patterns.find(prepared);
      if (!pattern) continue;
      found++;
      const { global, shared } = countedAnew(prepared.words);
      expect(pattern).toMatchObject({ global, shared });
      const sectors = Array.from(prepared.words.slice(LANES, 2 * LANES), (source) => Math.floor(source / 32));
      const first = sectors[0]!;
      const inTurn = sectors.filter((sector, lane) => sector !== sectors[lane - 1]);
      expect([...pattern.sectors]).toEqual(inTurn.map((sector) => sector - first));
      expect(pattern.hasWholeSectors).toBe(way !== column);
    }
    expect(found).toBeGreaterThan(150);
  });

  it('is looked up where a copy was prepared for nothing before', () => {
    const [prepare, patterns] = [instruction(), new CopyPatterns(BYTES)];
    const first = patterns.find(prepare(row, 0, 0))!;
    prepare(column, 0, 0);
    patterns.forget();
    const other = patterns.find(prepare(column, 0, 0))!;
    expect(other.global).not.toEqual(first.global);
  });

  it('is counted by itself where some lanes take nothing, or where there are many ways', () => {
    const [prepare, patterns] = [instruction(), new CopyPatterns(BYTES)];
    const prepared = prepare(row, 0, 0);
    const taken = prepared.words.slice();
    taken[2 * LANES + 5] = 0;
    expect(patterns.find({ ...prepared, words: taken })).toBeUndefined();
    const ways = Array.from(
      { length: 12 },
      (_, by): Way =>
        (lane) => ({ target: lane, source: lane * (by + 1) }),
    );
    const found = ways.map((way) => patterns.find(prepare(way, 0, 0)));
    expect(found.filter((pattern) => pattern !== undefined)).toHaveLength(8);
  });
});
