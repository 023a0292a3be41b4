import { describe, expect, it } from 'vitest';
import { generate, staleFiles } from '../../scripts/generate-figures.ts';
import { blockNames, replaceBlocks } from '../../scripts/results/markers.ts';
import { readAllRecordings } from '../../scripts/results/recordings.ts';
import { evaluateKernel } from '../../src/app/evaluate.ts';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import { evaluationSchema } from '../../src/core/evaluation.ts';
import { locateClang } from '../../src/toolchains/locate-clang.ts';
import { longTests } from '../support/sampling/matrix.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

describe('generated blocks and figures', () => {
  it('are what the recordings and the program give: npm run figures', async () => {
    expect(await staleFiles()).toEqual([]);
  });

  it('are all shown somewhere', async () => {
    const { files, unusedBlocks } = await generate();
    expect(unusedBlocks).toEqual([]);
    const pages = [...files].filter(([file]) => file.endsWith('.md')).map(([, text]) => text);
    for (const file of [...files.keys()].filter((name) => name.endsWith('.svg')))
      expect(
        pages.some((text) => text.includes(file.replace('docs/', ''))),
        file,
      ).toBe(true);
  });

  it('show no time without saying whether it is predicted or measured', async () => {
    const { files } = await generate();
    for (const [file, svg] of [...files].filter(([name]) => name.endsWith('.svg')))
      expect(svg, file).toMatch(/predicted|measured/);
  });
});

describe('markers', () => {
  const page = 'before\n<!-- generated:a -->\nold\n<!-- /generated -->\nafter\n';

  it('are filled, and filling again changes nothing', () => {
    const once = replaceBlocks(page, { a: 'new' });
    expect(once).toBe('before\n<!-- generated:a -->\n\nnew\n\n<!-- /generated -->\nafter\n');
    expect(replaceBlocks(once, { a: 'new' })).toBe(once);
    expect(blockNames(once)).toEqual(['a']);
  });

  it('are refused when nothing generates them, or the end is missing', () => {
    expect(() => replaceBlocks(page, {})).toThrow('nothing generates the block a');
    expect(() => replaceBlocks('<!-- generated:a -->\nold\n', { a: '' })).toThrow('no end marker');
  });
});

describe('recordings', () => {
  it('hold evaluations as the schema describes them', async () => {
    const recordings = await readAllRecordings();
    const evaluations = [
      ...recordings['attention-ladder'].entries,
      ...recordings['attention-small'].entries,
      ...recordings['red-team'].entries,
    ];
    const elapsedMs = { compile: 0, verify: 0, time: 0, total: 0 };
    for (const { command, result } of evaluations) {
      const parsed = evaluationSchema.safeParse({ ...result, elapsedMs });
      expect(parsed.error?.issues ?? [], command).toEqual([]);
    }
  });

  long('are of the rungs as they are: npm run results', async () => {
    const { entries } = (await readAllRecordings())['attention-ladder'];
    for (const { command, result } of entries) {
      const { kernel } = await loadKernel(result.candidate.folder);
      expect(makeCandidate(kernel, result.candidate.parameters).id, command).toBe(result.candidate.id);
    }
  });

  long('are what warpsmith says today, by the same compiler: npm run results', async ({ skip }) => {
    const { recordedWith, entries } = (await readAllRecordings())['attention-ladder'];
    const { version } = await locateClang();
    if (recordedWith.compiler !== `clang ${version}`)
      skip(`recorded with ${recordedWith.compiler}; here is ${version}`);
    const recorded = entries.find(({ result }) => result.candidate.kernel === '04_warp')!.result;
    const { device, workload, candidate } = recorded;
    const now = await evaluateKernel({
      target: candidate.folder,
      device: device.id,
      workload: workload.name,
      parameters: candidate.parameters,
      // What is compared is counted and predicted; rungs are verified elsewhere.
      quick: true,
      seed: 1,
    });
    expect(now.counters?.totals).toEqual(recorded.counters?.totals);
    expect(now.timing?.medianNs).toBeCloseTo(recorded.timing!.medianNs, 3);
    expect(now.findings.map(({ id }) => id)).toEqual(recorded.findings.map(({ id }) => id));
  });

  it('call every time predicted', async () => {
    const text = JSON.stringify(await readAllRecordings());
    expect(text).not.toContain('"kind":"measured"');
  });
});
