import type { PtxInstruction } from '../../ptx/ast.ts';

/** What has been issued but not waited for: closed groups, oldest first, then the open one. */
export interface PendingGroups<Item> {
  groups: Item[][];
  open: Item[];
}

export const nothingPending = <Item>(): PendingGroups<Item> => ({ groups: [], open: [] });

export const allPending = <Item>({ groups, open }: PendingGroups<Item>): Item[] => [...groups.flat(), ...open];

/** `commit_group`. */
export function closeGroup<Item>(pending: PendingGroups<Item>): void {
  pending.groups.push(pending.open);
  pending.open = [];
}

/** `wait_group`: ends the oldest groups until only `left` are pending. */
export function endGroups<Item>({ groups }: PendingGroups<Item>, left: number, end: (item: Item) => void): void {
  while (groups.length > left) for (const item of groups.shift()!) end(item);
}

/** How many groups a `wait_group` leaves pending. */
export const groupsLeftBy = ({ operands: [count] }: PtxInstruction): number =>
  count?.kind === 'immediate' ? Number(count.value) : 0;
