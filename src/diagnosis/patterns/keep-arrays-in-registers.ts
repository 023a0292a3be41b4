import type { Pattern } from '../pattern.ts';
import { fewer, movesOr } from './moves.ts';

/** Smaller per-thread tiles and constant indices. */
export const keepArraysInRegisters: Pattern = {
  id: 'keep-arrays-in-registers',
  title: 'Keep per-thread arrays in registers',
  source: 'CUDA C++ Programming Guide, local memory; FA2 register budgets',
  triggers: ['register-spills'],
  propose: movesOr(
    'Unroll the loops that index per-thread arrays, so that every index is a constant.',
    ...(['rows-per-warp', 'unroll', 'row-tile', 'column-tile'] as const).map((role) =>
      fewer(role, 0.5, 'a smaller per-thread tile needs fewer registers'),
    ),
  ),
};
