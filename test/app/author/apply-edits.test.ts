import { describe, expect, it } from 'vitest';
import { applyEdits, type Edit } from '../../../src/app/author/apply-edits.ts';
import { WarpsmithError } from '../../../src/core/errors.ts';

const FILES = { 'kernel.cu': 'int a = 1;\nint b = 2;\nint c = a + b;\nint d = a + b;\n' };

function refused(edits: readonly Edit[]): WarpsmithError['details'] {
  try {
    applyEdits(FILES, edits);
  } catch (error) {
    if (error instanceof WarpsmithError) return error.details;
    throw error;
  }
  throw new Error('was not refused');
}

describe('edits', () => {
  it('change the one place, each in the text that the one before left', () => {
    const edited = applyEdits(FILES, [
      { file: 'kernel.cu', search: 'int b = 2;', replace: 'int b = 3;' },
      { file: 'kernel.cu', search: 'b = 3', replace: 'b = $& 4' },
    ]);
    expect(edited['kernel.cu']).toBe('int a = 1;\nint b = $& 4;\nint c = a + b;\nint d = a + b;\n');
    expect(FILES['kernel.cu']).toContain('b = 2');
  });

  it('are refused where the text is not there, with the nearest one', () => {
    const details = refused([{ file: 'kernel.cu', search: 'int c = a  + b;', replace: '' }]);
    expect(details).toMatchObject({ code: 'no-match', path: 'edits[0].search' });
    expect(details.expected).toBe('nearest, at line 3:\nint c = a + b;');
  });

  it('are refused where the text is there more than once, with the lines', () => {
    const details = refused([{ file: 'kernel.cu', search: '= a + b', replace: '' }]);
    expect(details).toMatchObject({ code: 'ambiguous-match' });
    expect(details.received).toContain('lines 3, 4');
  });

  it.each([
    ['unknown-file', { file: 'other.cu', search: 'a', replace: 'b' }],
    ['empty-search', { file: 'kernel.cu', search: '', replace: 'b' }],
  ])('are refused: %s', (code, edit) => expect(refused([edit]).code).toBe(code));

  it('says nothing is near if nothing is', () =>
    expect(refused([{ file: 'kernel.cu', search: 'wgmma', replace: '' }]).expected).toMatch(/^a text of the file/));
});
