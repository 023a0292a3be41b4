import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WarpsmithError } from '../../src/core/errors.ts';
import { addToJournal, journalObjects, type NewAttempt, readJournal } from '../../src/store/journal.ts';
import { lockWriter } from '../../src/store/writer-lock.ts';

let store: string;
beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), 'warpsmith-journal-'));
});
afterEach(() => rmSync(store, { recursive: true, force: true }));

const attempt = (changes: Partial<NewAttempt> = {}): NewAttempt => ({
  command: 'evaluate',
  parent: null,
  problem: 'scale',
  device: { id: 'virtual:l4', name: 'L4' },
  candidate: { id: '1', kernel: 'toy', folder: 'toy', parameters: {} },
  sources: {},
  results: [],
  ...changes,
});

const add = (...attempts: NewAttempt[]) => addToJournal(store, () => attempts.shift());
const path = () => join(store, 'journal', 'journal.jsonl');
const ids = () => readJournal(store).attempts.map(({ id }) => id);

describe('a journal', () => {
  it('is empty where there is none', () => {
    expect(readJournal(store)).toEqual({ attempts: [], unreadable: 0 });
  });

  it('numbers what is added, and gives it back', () => {
    add(attempt({ note: 'first' }));
    const [second, third] = add(attempt({ parent: 'a1' }), attempt());
    expect([second?.id, third?.id]).toEqual(['a2', 'a3']);
    expect(readJournal(store)).toMatchObject({
      attempts: [{ id: 'a1', note: 'first' }, { id: 'a2', parent: 'a1' }, { id: 'a3' }],
      unreadable: 0,
    });
  });

  it('shows what is added everything before it, and takes its sources', () => {
    add(attempt());
    const seen: string[][] = [];
    addToJournal(store, (earlier, objects) => {
      seen.push(earlier.map(({ id }) => id));
      return seen.length > 2 ? undefined : attempt({ sources: { 'kernel.cu': objects.put(`text ${seen.length}`) } });
    });
    expect(seen).toEqual([['a1'], ['a1', 'a2'], ['a1', 'a2', 'a3']]);
    const { sources } = readJournal(store).attempts[2]!;
    expect(new TextDecoder().decode(journalObjects(store).get(sources['kernel.cu']!))).toBe('text 2');
  });

  it('goes on behind a line that a killed process left torn, and leaves that out', () => {
    add(attempt(), attempt());
    const { length } = readFileSync(path());
    truncateSync(path(), length - 30);
    expect(ids()).toEqual(['a1']);
    add(attempt());
    // The torn one may have been a2.
    expect(ids()).toEqual(['a1', 'a3']);
    expect(readJournal(store).unreadable).toBe(1);
  });

  it.each([
    ['no JSON', 'nonsense'],
    ['another shape', '{"id": "a2"}'],
    ['a newer version', JSON.stringify({ ...attempt(), schemaVersion: 2, id: 'a2', time: '' })],
  ])('leaves out lines that are %s', (_what, line) => {
    add(attempt());
    appendFileSync(path(), `${line}\n`);
    add(attempt());
    expect(ids()).toEqual(['a1', 'a3']);
    expect(readJournal(store).unreadable).toBe(1);
  });

  it('takes fields that a later version added', () => {
    add(attempt());
    writeFileSync(path(), readFileSync(path(), 'utf8').replace('{', '{"mood": "good", '));
    expect(ids()).toEqual(['a1']);
  });

  it('is written by one process at a time, and can be by the next', () => {
    add(attempt());
    const lock = lockWriter(join(store, 'journal'));
    const refused = (): unknown => {
      try {
        return lockWriter(join(store, 'journal'), { what: 'journal', patienceMs: 1 });
      } catch (error) {
        return error;
      }
    };
    expect(refused()).toBeInstanceOf(WarpsmithError);
    expect((refused() as WarpsmithError).message).toContain('The journal is being written by');
    lock.release();
    add(attempt());
    expect(ids()).toEqual(['a1', 'a2']);
  });

  it('says that a store can’t be written', () => {
    const file = join(store, 'file');
    writeFileSync(file, '');
    expect(() => addToJournal(file, () => attempt())).toThrow(/cannot be written/);
  });
});
