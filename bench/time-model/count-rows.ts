/**
 * Counts, on a virtual H200, what attention's kernels do in the rows of docs/results/h200-attention-libraries.json and
 * h200-attention-whole-domain.json, and writes the counters beside the times that an H200 took there. A GPU ran what NVRTC made of the kernels, here
 * clang's PTX is counted. Rows of more FLOP than --gigaflop are left out, and what is recorded already is not counted again.
 *
 *     node bench/time-model/count-rows.ts [--output docs/results/h200-rows-counted.json] [--gigaflop 20] [--again] [WORKLOAD …]
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { AgainstLibraries } from '../../scripts/results/ladder-summary.ts';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { openRecording } from '../recording-file.ts';
import { countSubject } from './count-subject.ts';
import type { TimeRecording } from './recorded-times.ts';
import { keyOf, ofRung, type Subject } from './subjects.ts';

const TABLES = ['docs/results/h200-attention-libraries.json', 'docs/results/h200-attention-whole-domain.json'];

const { values: options, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: {
    output: { type: 'string', default: 'docs/results/h200-rows-counted.json' },
    gigaflop: { type: 'string', default: '20' },
    again: { type: 'boolean', default: false },
  },
});
const folderOf = (rung: string): string => `problems/attention/${rung}`;
const mostFlop = Number(options.gigaflop) * 1e9;

/** A row's kernel with its setting, and the time that an H200 took. */
interface MeasuredRow {
  readonly kernel: string;
  readonly parameters: Readonly<Record<string, number>>;
  readonly workload: string;
  readonly dimensions: Readonly<Record<string, number>>;
  readonly measuredNs: number;
}

/** Rows of a table that are small enough. A view's setting is that of the first kernel which has all of its parameters. */
async function rowsOf(file: string): Promise<MeasuredRow[]> {
  const { views } = JSON.parse(await readFile(file, 'utf8')) as AgainstLibraries;
  const loaded = views.map(async ({ contenders, parameters, rows }) => {
    const setting = Object.fromEntries(
      parameters.split(', ').map((one) => [one.split('=')[0]!, Number(one.split('=')[1])]),
    );
    const kernels = contenders.filter(({ kind }) => kind === 'kernel').map(({ name }) => name);
    const takes = await Promise.all(kernels.map((name) => hasParameters(name, Object.keys(setting))));
    const kernel = kernels.find((_, i) => takes[i]);
    // Of a form that a rung had before.
    if (kernel === undefined) return [];
    return rows.flatMap(({ workload, dimensions, flop, cells }) => {
      const cell = cells.find(({ contender }) => contender === kernel);
      if (cell?.outcome !== 'measured' || flop > mostFlop) return [];
      return [{ kernel, parameters: setting, workload, dimensions, measuredNs: cell.summary.medianNs }];
    });
  });
  return (await Promise.all(loaded)).flat();
}

async function hasParameters(rung: string, names: readonly string[]): Promise<boolean> {
  if (!existsSync(folderOf(rung))) return false;
  const { kernel } = await loadKernel(folderOf(rung));
  return names.every((name) => kernel.file.parameters?.[name] !== undefined);
}

async function subjectOf({ kernel: name, parameters, workload, dimensions }: MeasuredRow): Promise<Subject> {
  const { kernel, problem } = await loadKernel(folderOf(name));
  return ofRung({
    kernel: `attention/${name}`,
    problem,
    candidate: makeCandidate(kernel, parameters),
    workload: { name: workload, dimensions, cache: 'hot' },
  });
}

const rows = (await Promise.all(TABLES.map(rowsOf))).flat();
const wanted = asked.length > 0 ? rows.filter(({ workload }) => asked.includes(workload)) : rows;
const { device: timedOn, versions } = (JSON.parse(await readFile(TABLES[0]!, 'utf8')) as AgainstLibraries).views[0]!;
const where = { device: timedOn.name, driver: timedOn.driver ?? 'unknown', compiler: versions.compiler ?? 'unknown' };
const { recording, save } = await openRecording<TimeRecording>(options.output, () => ({
  schemaVersion: 1,
  ...where,
  recordedAt: new Date().toISOString(),
  entries: {},
}));
const device = await openDevice('virtual:h200');
try {
  const toolchain = await createClangToolchain();
  for (const row of wanted) {
    const subject = await subjectOf(row);
    const key = keyOf(subject);
    if (recording.entries[key] && !options.again) continue;
    try {
      const { counters, memsetBytes } = await countSubject(device, toolchain, subject);
      const { kernel, parameters, problem, workload } = subject;
      recording.entries[key] = {
        ...{ problem, kernel, parameters, workload, ptx: '', registers: {}, measuredNs: row.measuredNs },
        counters: counters.map((launch) => ({ ...launch, lines: [] })),
        ...(memsetBytes.length > 0 && { memsetBytes }),
      };
      await save();
      process.stderr.write(`${key}\n`);
    } catch (error) {
      process.stderr.write(`${key}: ${error instanceof Error ? error.message : String(error)}\n`);
    }
  }
} finally {
  await device.close();
}
