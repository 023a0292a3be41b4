import { sampled, sampledOne } from '../../support/sampling/matrix.ts';

const BOTH = ['virtual:l4', 'virtual:h200'] as const;

/** Problem and device of each search through a whole ladder. */
const CLIMBS = [
  'gemm on virtual:l4',
  'transpose on virtual:h200',
  ...['histogram', 'layernorm', 'reduction', 'scan', 'softmax'].flatMap((name) =>
    BOTH.map((device) => `${name} on ${device}`),
  ),
];

const placeOf = (member: string): string => `problems/${member.split(' ')[0]!}`;

/** Registers the test of one search through a ladder, on one of the devices. */
export const climb = sampledOne('climbs', CLIMBS, { oneIn: CLIMBS.length, placeOf });

/** Registers the test of the effect of every rung of a ladder. */
export const effectOfRungs = sampledOne('effects of rungs', ['layernorm', 'softmax', 'transpose'], {
  oneIn: 3,
  placeOf,
});

/** Registers a test for each wrong kernel that the checks of a problem must refuse. */
export const mistakesOf = <T>(problem: string, mistakes: readonly T[]) =>
  sampled(`mistakes in ${problem}`, mistakes, { oneIn: 6, placeOf: () => `problems/${problem}` });

const AGREEING = ['gemm', 'histogram', 'layernorm', 'reduction', 'scan', 'softmax'];

/** Registers the test that a problem's reference on the device agrees with reference.ts. */
export const agreementOf = sampledOne('device references', AGREEING, { oneIn: 6, placeOf });

/** Registers a test for each rung of a ladder. */
export const rungsOf = (problem: string, rungs: readonly string[], dtype = '') =>
  sampled(`rungs of ${problem} ${dtype}`, rungs, { oneIn: 8, placeOf: (rung) => `problems/${problem}/${rung}` });
