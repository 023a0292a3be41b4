import type { Strategy, StrategyOptions } from './strategy.ts';

/** Every configuration, in the space's order. */
export function exhaustive({ space }: StrategyOptions): Strategy {
  const taken = new Uint8Array(space.size);
  let next = 0;
  return {
    ask() {
      while (taken[next] === 1) next += 1;
      if (next >= space.size) return undefined;
      taken[next] = 1;
      return next;
    },
    foresee(count) {
      const foreseen: number[] = [];
      for (let index = next; index < space.size && foreseen.length < count; index += 1)
        if (taken[index] !== 1) foreseen.push(index);
      return foreseen;
    },
    tell(index) {
      taken[index] = 1;
    },
  };
}
