import { posix } from 'node:path';
import type { Finding } from '../core/finding.ts';
import { placeIn } from '../diagnosis/where.ts';
import {
  type GatedKernel,
  type GatedWorkload,
  type GatePlace,
  type GateView,
  isNewIn,
  isRefused,
} from './documents/gate.ts';
import { describeEvidence } from './sections/findings.ts';

/*
 * SARIF 2.1.0 of a gate, as code scanning reads it: what refuses a change is an error, what a kernel's diagnosis finds a note, or a warning
 * if it is new.
 */

const SCHEMA = 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json';

interface Reported {
  readonly ruleId: string;
  /** What the rule is about, in a few words. */
  readonly about: string;
  readonly level: 'error' | 'warning' | 'note';
  readonly message: string;
  readonly place: Omit<GatePlace, 'message'>;
  /** Against the base, where the kernel was compared with one. */
  readonly baselineState?: 'new' | 'unchanged';
  /** The same in every run of the same trouble. */
  readonly fingerprint: string;
}

const REFUSALS: Readonly<Record<string, string>> = {
  wrong: 'The kernel does not pass',
  slower: 'The kernel is slower than before',
  'worse-than-best': 'The kernel is slower than the best so far',
};

/** @param version of warpsmith. */
export function sarifOf(view: GateView, version: string): object {
  const results = view.kernels.flatMap(reportedOf);
  const rules = [...new Map(results.map(({ ruleId, about }) => [ruleId, about])).entries()];
  return {
    $schema: SCHEMA,
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'warpsmith',
            semanticVersion: version,
            rules: rules.map(([id, about]) => ({ id, shortDescription: { text: about } })),
          },
        },
        columnKind: 'utf16CodeUnits',
        originalUriBaseIds: { '%SRCROOT%': { description: { text: 'The top folder of the repository.' } } },
        results: results.map((one) =>
          resultOf(
            one,
            rules.findIndex(([id]) => id === one.ruleId),
          ),
        ),
      },
    ],
  };
}

const resultOf = (
  { ruleId, level, message, place, baselineState, fingerprint }: Reported,
  ruleIndex: number,
): object => ({
  ruleId,
  ruleIndex,
  level,
  message: { text: message },
  locations: [
    {
      physicalLocation: {
        // A name may hold what means something else in an address.
        artifactLocation: { uri: place.file.split('/').map(encodeURIComponent).join('/'), uriBaseId: '%SRCROOT%' },
        region: { startLine: place.line, startColumn: place.column },
      },
    },
  ],
  baselineState,
  partialFingerprints: { 'warpsmithGate/v1': fingerprint },
});

const reportedOf = (kernel: GatedKernel): Reported[] => [
  ...mistake(kernel),
  ...kernel.workloads.flatMap((row) => [
    ...refusals(kernel, row),
    ...row.findings.map((one) => found(kernel, row, one)),
  ]),
];

/** `line:column` of a JSON file that can't be read; a path in it names no line. */
function mistake({ kernel, files, error }: GatedKernel): Reported[] {
  if (!error) return [];
  const [, line = '1', column] = /^(\d+):(\d+)$/.exec(error.path ?? '') ?? [];
  const place = { file: error.file ?? files[0]!, line: Number(line), column: column ? Number(column) : undefined };
  const about = 'A file of the kernel has a mistake';
  return [
    { ruleId: 'gate/invalid', about, level: 'error', message: error.message, place, fingerprint: `${kernel} invalid` },
  ];
}

function refusals({ kernel, files }: GatedKernel, row: GatedWorkload): Reported[] {
  if (!isRefused(row)) return [];
  const { outcome, why = outcome, workload, places } = row;
  const whole = { file: files[0]!, line: 1, message: why };
  const own = places.map((place) => ({ ...place, file: posix.join(kernel, place.file) }));
  return (own.length > 0 ? own : [whole]).map(({ message, ...place }) => ({
    ruleId: `gate/${outcome}`,
    about: REFUSALS[outcome]!,
    level: 'error',
    message: `${kernel}, ${workload}: ${message}`,
    place,
    fingerprint: `${kernel} ${workload} ${outcome}`,
  }));
}

function found({ kernel, files }: GatedKernel, row: GatedWorkload, finding: Finding): Reported {
  const { workload, before } = row;
  const { id, title, advice } = finding;
  const places = finding.evidence.flatMap(({ where = '' }) => placeIn(where) ?? []);
  const own = places
    .map(({ file, line }) => ({ file: posix.join(kernel, file), line }))
    .find(({ file }) => files.includes(file));
  const isNew = isNewIn(row, finding);
  return {
    ruleId: id,
    about: id.replaceAll('-', ' '),
    level: isNew ? 'warning' : 'note',
    message: `${kernel}, ${workload}: ${title}. ${describeEvidence(finding)}. ${advice}`,
    place: own ?? { file: files[0]!, line: 1 },
    baselineState: before === null ? undefined : isNew ? 'new' : 'unchanged',
    fingerprint: `${kernel} ${workload} ${id}`,
  };
}
