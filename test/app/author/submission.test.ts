import { describe, expect, it } from 'vitest';
import { readSubmission, type Submission } from '../../../src/app/author/submission.ts';
import { loadProblem } from '../../../src/app/loading/load-problem.ts';
import { WarpsmithError } from '../../../src/core/errors.ts';

const problem = await loadProblem('examples/row-sum');
const SOURCE = '__global__ void row_sum(const float* x, float* y, int rows, int columns) {}';

const json = (changes: object = {}): string =>
  JSON.stringify({
    schemaVersion: 1,
    name: 'mine',
    description: 'Mine.',
    source: { kind: 'cuda', files: ['kernel.cu'] },
    steps: [{ function: 'row_sum', grid: ['rows'], block: [32], arguments: [{ buffer: 'x' }, { buffer: 'y' }] }],
    ...changes,
  });

function codeOf(submission: Submission): string {
  try {
    readSubmission(submission, problem);
    return 'taken';
  } catch (error) {
    if (error instanceof WarpsmithError) return error.details.code;
    throw error;
  }
}

describe('a submission', () => {
  it('names the problem that judges it, whatever it says', () => {
    const files = { 'kernel.json': json({ problem: '../../mine/problem.json' }), 'kernel.cu': SOURCE };
    const { kernel } = readSubmission({ files }, problem);
    expect(kernel.file.problem).toBe('../problem.json');
    expect(kernel.sources).toEqual({ 'kernel.cu': SOURCE });
  });

  it('edits its parent’s files', () => {
    const parent = readSubmission({ files: { 'kernel.json': json(), 'kernel.cu': SOURCE } }, problem);
    const edits = [{ file: 'kernel.json', search: '"name": "mine"', replace: '"name": "edited"' }];
    const child = readSubmission({ parent, edits, files: { 'kernel.cu': `${SOURCE}\n` } }, problem);
    expect(child.kernel.file.name).toBe('edited');
    expect(child.id).not.toBe(parent.id);
    expect(readSubmission({ parent }, problem).id).toBe(parent.id);
  });

  const files = (others: Record<string, string>) => ({ 'kernel.json': json(), 'kernel.cu': SOURCE, ...others });
  it.each<[string, Submission]>([
    ['taken', { files: files({}) }],
    ['unlisted-file', { files: files({ 'problem.json': '{}' }) }],
    ['unlisted-file', { files: files({ 'reference.ts': 'export const reference = () => ({})' }) }],
    ['bad-file-name', { files: files({ '../problem.json': '{}' }) }],
    ['bad-file-name', { files: files({ '/etc/passwd': '' }) }],
    ['bad-file-name', { files: files({ 'a/../../b.cu': '' }) }],
    ['file-too-large', { files: files({ 'kernel.cu': 'x'.repeat(300_000) }) }],
    ['too-many-files', { files: files(Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`${i}.cu`, '']))) }],
    ['no-kernel-json', { files: { 'kernel.cu': SOURCE } }],
    ['missing-file', { files: { 'kernel.json': json() } }],
    ['file-outside-kernel', { files: { 'kernel.json': json({ source: { kind: 'cuda', files: ['../a.cu'] } }) } }],
    ['machine-code-refused', { files: files({ 'kernel.json': json({ source: { kind: 'cubin', files: ['a'] } }) }) }],
    ['unknown-key', { files: files({ 'kernel.json': json({ tolerance: 1 }) }) }],
    ['unknown-key', { files: files({ 'kernel.json': json({ timeNs: 1 }) }) }],
    ['invalid-json', { files: files({ 'kernel.json': '{ prose' }) }],
    ['invalid-value', { files: files({ 'kernel.json': '[]' }) }],
  ])('%s', (code, submission) => expect(codeOf(submission)).toBe(code));
});
