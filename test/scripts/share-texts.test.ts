import { describe, expect, it } from 'vitest';
import { shareTexts } from '../../scripts/build/share-texts.ts';

const LONG = 'a text that takes room';

/** What a module exports as its default. */
const run = async (code: string): Promise<unknown> =>
  (await import(`data:text/javascript,${encodeURIComponent(code)}`)).default;

const countOf = (text: string, part: string): number => text.split(part).length - 1;

describe('texts that stand in several places', () => {
  it('are written once', async () => {
    const code = `export default [\`${LONG}\`,\`${LONG}\`,\`${LONG}\`];`;
    const shared = shareTexts(code);
    expect(countOf(shared, LONG)).toBe(1);
    expect(shared.length).toBeLessThan(code.length);
    expect(await run(shared)).toEqual([LONG, LONG, LONG]);
  });

  it('stand behind and before keywords', async () => {
    const code = `const f=e=>{switch(e){case"${LONG}":return"${LONG}"in{"${LONG}":1}}};export default[f("${LONG}"),typeof"${LONG}"];`;
    const shared = shareTexts(code);
    expect(countOf(shared, LONG)).toBe(2);
    expect(await run(shared)).toEqual([true, 'string']);
  });

  it('are left alone as keys of properties, but not where these are computed', async () => {
    const code = `export default [{"${LONG}":1},{["${LONG}"]:"${LONG}"},"${LONG}"];`;
    const shared = shareTexts(code);
    expect(shared).toContain(`{"${LONG}":1}`);
    expect(countOf(shared, LONG)).toBe(2);
    expect(await run(shared)).toEqual([{ [LONG]: 1 }, { [LONG]: LONG }, LONG]);
  });

  it('may be kinds of arrays and functions that need no object, but no properties of these names', async () => {
    const use = 'Object.entries({Int32Array:new Int32Array(1).length,of:BigInt.asUintN(1,3n)})';
    const code = `export default [${Array.from({ length: 6 }, () => use).join()},globalThis.Int32Array===Int32Array];`;
    const shared = shareTexts(code);
    expect(countOf(shared, 'Object.entries')).toBe(1);
    expect(shared).toContain('globalThis.Int32Array');
    expect(await run(shared)).toEqual([
      ...Array(6).fill([
        ['Int32Array', 1],
        ['of', 1n],
      ]),
      true,
    ]);
  });

  it('stay where a name saves nothing', () => {
    expect(shareTexts(`export default ["ab","ab","${LONG}"];`)).toContain(`["ab","ab","${LONG}"]`);
  });

  it('get names that the code does not have', async () => {
    const code = `const $0=1,$1=2;export default [$0,$1,"${LONG}","${LONG}","${LONG}"];`;
    expect(shareTexts(code)).toContain(`const $2="${LONG}"`);
    expect(await run(shareTexts(code))).toEqual([1, 2, LONG, LONG, LONG]);
  });

  it('may be undefined, as minified code writes it, but no call whose value nobody wants', async () => {
    const none = Array.from({ length: 9 }, () => 'void 0').join();
    const code = `let called=0;const call=()=>++called;export default [${none},void call(),void call(),void call(),called];`;
    const shared = shareTexts(code);
    expect(countOf(shared, 'void 0')).toBe(1);
    expect(await run(shared)).toEqual([...Array(12).fill(undefined), 3]);
  });
});
