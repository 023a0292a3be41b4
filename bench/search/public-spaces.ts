// Benches every strategy on public spaces that were evaluated whole, and writes docs/results/search-spaces.json:
// node bench/search/public-spaces.ts <file.t4.json.gz>:<percent> …
//
// The spaces themselves are not part of the project: https://github.com/AutoTuningAssociation/benchmark_hub has them.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { PublicSpaces } from '../../scripts/results/search-recording.ts';
import { packageVersion } from '../../src/app/package-version.ts';
import { searchBench } from '../../src/app/search-bench.ts';
import type { SearchBenchView } from '../../src/reports/documents/search-bench.ts';

const SEEDS = 50;
const EVALUATIONS = 200;
const OUTPUT = fileURLToPath(new URL('../../docs/results/search-spaces.json', import.meta.url));

const { positionals } = parseArgs({ allowPositionals: true });
const spaces: SearchBenchView[] = [];
for (const argument of positionals) {
  const [file = '', within = '5'] = argument.split(':');
  const onStep = (text: string): void => void process.stderr.write(`${file}: ${text}\n`);
  spaces.push(await searchBench({ file, within: Number(within), seeds: SEEDS, evaluations: EVALUATIONS, onStep }));
}
const recording: PublicSpaces = {
  schemaVersion: 1,
  date: new Date().toISOString().slice(0, 10),
  warpsmith: packageVersion(),
  spaces,
};
// Ratios with five digits: the rest of them is not worth the space.
const rounded = (key: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isInteger(value) && key !== 'bestNs' ? Number(value.toPrecision(5)) : value;
await writeFile(OUTPUT, `${JSON.stringify(recording, rounded)}\n`);
