import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sampled, sampledOne } from '../../support/sampling/matrix.ts';

const PROBLEMS = join(import.meta.dirname, '../../../problems');
const BOTH = ['virtual:l4', 'virtual:h200'] as const;

/** Problem and device of each search through a whole ladder. */
const CLIMBS = [
  'gemm on virtual:l4',
  'transpose on virtual:h200',
  ...['histogram', 'layernorm', 'reduction', 'scan', 'softmax'].flatMap((name) =>
    BOTH.map((device) => `${name} on ${device}`),
  ),
];

const placeOf = (member: string): string => `problems/${member.split(/[ ,]/)[0]!}`;

/** Problems whose every rung is timed. */
const TIMED = ['layernorm', 'softmax', 'transpose'].map((name) => `${name}, rung by rung`);

const ladder = sampledOne('whole ladders', [...CLIMBS, ...TIMED], { oneIn: CLIMBS.length + TIMED.length, placeOf });

/** Registers the test of one search through a ladder, on one of the devices. */
export const climb = ladder;

/** Registers the test of the effect of every rung of a ladder. */
export const effectOfRungs = (problem: string) => ladder(`${problem}, rung by rung`);

/** Registers a test for each wrong kernel that the checks of a problem must refuse. */
export const mistakesOf = <T>(problem: string, mistakes: readonly T[]) =>
  sampled(`mistakes in ${problem}`, mistakes, { oneIn: 12, placeOf: () => `problems/${problem}` });

const AGREEING = ['gemm', 'histogram', 'layernorm', 'reduction', 'scan', 'softmax'];

/** Registers the test that a problem's reference on the device agrees with reference.ts. */
export const agreementOf = sampledOne('device references', AGREEING, { oneIn: 6, placeOf });

/** Problem, rung and dtype of every rung of a ladder; the dtype of a problem with one is not named. */
const RUNGS = [...AGREEING, 'transpose'].flatMap((problem) => {
  const { rungs } = JSON.parse(readFileSync(join(PROBLEMS, problem, 'problem.json'), 'utf8')) as { rungs: string[] };
  const dtypes = problem === 'gemm' ? ['f32', 'f16', 'bf16'] : [''];
  return dtypes.flatMap((dtype) =>
    // Tensor cores take no f32.
    rungs.filter((rung) => dtype !== 'f32' || rung !== '05_tensor_cores').map((rung) => `${problem} ${rung} ${dtype}`),
  );
});

const rungOf = sampledOne('rungs of ladders', RUNGS, {
  oneIn: 16,
  placeOf: (member) => `problems/${member.split(' ').slice(0, 2).join('/')}`,
});

/** Registers a test for each rung of a ladder, all ladders being one matrix. `%s` of the title is the rung. */
export const rungsOf =
  (problem: string, rungs: readonly string[], dtype = '') =>
  (title: string, body: (rung: string) => Promise<void>): void => {
    for (const rung of rungs) rungOf(`${problem} ${rung} ${dtype}`)(title.replace('%s', rung), () => body(rung));
  };
