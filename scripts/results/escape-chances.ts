import { fixedTier, LARGE_SLOT_BYTES, TIERS, type TierLimits } from '../../src/evaluation/measure/tiers.ts';
import { CONFIRMATION_BLOCKS } from '../../src/optimizer/confirm.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';

/** A ring such as short kernels have, and its shorter replays half as long. */
const SLOTS = 20;
const CUTS_PER_BLOCK = 2;
const SHARES = [0.25, 0.05, 0.01, 0.001];

/** What a winner goes through at least: the screen that the time cap leaves, an acceptance, a confirmation. */
const WINNER: readonly { limits: TierLimits; blocks: number }[] = [
  { limits: TIERS.screen, blocks: TIERS.screen.fewestBlocks },
  { limits: TIERS.accept, blocks: TIERS.accept.leastBlocks },
  { limits: fixedTier(CONFIRMATION_BLOCKS), blocks: CONFIRMATION_BLOCKS },
];

const sum = (of: (part: (typeof WINNER)[number]) => number): number =>
  WINNER.reduce((total, part) => total + of(part), 0);

/** Launch sequences that are run again by themselves and compared. */
const reruns = sum(({ limits, blocks }) => blocks * SLOTS * (limits.samplesPerBlock + CUTS_PER_BLOCK / 2));
/** Slots that are compared with the oracle. */
const compared = sum(({ limits, blocks }) => (limits.comparedBlocks === 'all' ? blocks : 1));
/** Of large slots: one whole in each part of what a winner goes through, and rows of a part of one in every other block. */
const comparedLarge = sum(({ blocks }) => blocks);

const percent = (chance: number): string => {
  if (chance < 1e-4) return 'below 0.01 %';
  return `${chance < 0.01 ? (100 * chance).toPrecision(2) : Math.round(100 * chance)} %`;
};

/** How likely a winner that cheats in a share of its launches, or of its inputs, gets through; from the protocol's own numbers. */
export const escapeChances = (): string => {
  const rows = SHARES.map((share) => [
    `${100 * share} %`,
    percent((1 - share) ** reruns),
    percent((1 - share) ** compared),
    percent((1 - share) ** comparedLarge),
  ]);
  const titles = [
    'Share',
    'of launches, chosen by anything but the inputs',
    'of inputs, chosen by the inputs alone',
    `the same, slots above ${LARGE_SLOT_BYTES / 2 ** 20} MiB whose parts are independent`,
  ];
  const table = markdownTable(
    titles.map((title, i) => ({ title, ...(i > 0 && { align: 'right' as const }) })),
    rows,
  );
  return (
    `${table}\n\nChance that a winner is never caught: with ${SLOTS} slots, ${reruns.toLocaleString('en')} launch sequences of it ` +
    `are run again and compared, ${compared} slots are compared whole with the oracle; of large ones ${WINNER.length} whole and rows of ` +
    `${comparedLarge - WINNER.length} more. Where a large slot can't be cut, those ${WINNER.length} are all.`
  );
};
