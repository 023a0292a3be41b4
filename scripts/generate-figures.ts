// Writes the generated blocks and figures of the documentation: npm run figures [-- --check]
//
// Figures and result tables come from docs/results/*.json alone, reference tables from the program's own tables.
// --check writes nothing and fails when something committed differs.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { attentionThroughputBlocks } from './results/attention-throughput.ts';
import { counterAgreementBlocks } from './results/counter-agreement.ts';
import { courseBlocks } from './results/course-blocks.ts';
import { escapeChances } from './results/escape-chances.ts';
import { instructionBlocks } from './results/instructions.ts';
import { blockNames, replaceBlocks } from './results/markers.ts';
import { measuredBlocks, measuredFigures, missingRecordings } from './results/measured-blocks.ts';
import { readMeasuredRecordings } from './results/measuring-recordings.ts';
import { ROOT, readAllRecordings, readHardwareRecordings } from './results/recordings.ts';
import { refereeBlocks } from './results/referee-blocks.ts';
import { referenceBlocks } from './results/reference-blocks.ts';
import { registerBlocks } from './results/registers.ts';
import { figures, hardwareBlocks, resultBlocks } from './results/result-blocks.ts';
import { runStagesBlocks } from './results/run-stages.ts';
import { samplingBlocks } from './results/sampling.ts';
import { searchBlocks, searchFigures } from './results/search-blocks.ts';
import { readSearchRecordings } from './results/search-recording.ts';
import { throughputBlocks } from './results/throughput.ts';
import { timeAccuracyBlocks } from './results/time-accuracy.ts';
import { unrollingBlocks } from './results/unrolling.ts';
import { speedBlocks } from './results/virtual-gpu-speed.ts';

const root = fileURLToPath(ROOT);

/** Pages that may hold generated blocks, relative to the root. */
export const documentationPages = async (): Promise<string[]> => {
  const pages = await readdir(join(root, 'docs'), { recursive: true, withFileTypes: true });
  const docs = pages
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
  const lessons = await readdir(join(root, 'course'));
  const course = lessons.sort().map((lesson) => `course/${lesson}/page.md`);
  return ['README.md', 'problems/attention/README.md', ...course, ...docs.sort()];
};

/** Every generated file with its contents, and the blocks that no page shows. */
export const generate = async (): Promise<{ files: Map<string, string>; unusedBlocks: string[] }> => {
  const recordings = await readAllRecordings();
  const measured = await readMeasuredRecordings();
  const search = await readSearchRecordings();
  const blocks = {
    ...resultBlocks(recordings),
    ...hardwareBlocks(await readHardwareRecordings()),
    ...(await instructionBlocks()),
    ...measuredBlocks(measured),
    ...refereeBlocks(measured),
    'escape-chances': escapeChances(),
    ...referenceBlocks(),
    ...searchBlocks(search),
    ...(await registerBlocks()),
    ...(await unrollingBlocks()),
    ...(await speedBlocks()),
    ...(await samplingBlocks()),
    ...(await attentionThroughputBlocks()),
    ...(await throughputBlocks()),
    ...(await runStagesBlocks()),
    ...(await timeAccuracyBlocks()),
    ...(await counterAgreementBlocks()),
    ...(await courseBlocks()),
  };
  const files = new Map(
    Object.entries({ ...figures(recordings), ...measuredFigures(measured), ...searchFigures(search) }),
  );
  const used = new Set<string>();
  for (const page of await documentationPages()) {
    const text = await readFile(join(root, page), 'utf8');
    for (const name of blockNames(text)) used.add(name);
    try {
      const replaced = replaceBlocks(text, blocks);
      if (blockNames(text).length > 0) files.set(page, replaced);
    } catch (error) {
      throw new Error(`${page}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { files, unusedBlocks: Object.keys(blocks).filter((name) => !used.has(name)) };
};

/** Generated files whose committed contents differ. */
export const staleFiles = async (): Promise<string[]> => {
  const { files } = await generate();
  const stale: string[] = [];
  for (const [file, contents] of files) {
    const committed = await readFile(join(root, file), 'utf8').catch(() => undefined);
    if (committed !== contents) stale.push(file);
  }
  return stale;
};

const main = async (): Promise<void> => {
  const stale = await staleFiles();
  if (process.argv.includes('--check')) {
    if (stale.length === 0) return;
    process.stderr.write(`Out of date: ${stale.join(', ')}. Run npm run figures.\n`);
    process.exitCode = 1;
    return;
  }
  const { files, unusedBlocks } = await generate();
  for (const file of stale) {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), files.get(file)!);
    process.stdout.write(`${file}\n`);
  }
  for (const missing of missingRecordings(await readMeasuredRecordings()))
    process.stdout.write(`Left out, not recorded yet: ${missing}\n`);
  if (unusedBlocks.length > 0) process.stdout.write(`On no page: ${unusedBlocks.join(', ')}\n`);
};

if (import.meta.main) await main();
