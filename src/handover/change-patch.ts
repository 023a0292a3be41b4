import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';

/** Text files of a kernel folder by name. */
export type FolderFiles = Readonly<Record<string, string>>;

/** Lines of context, as git and diff have them. */
const CONTEXT_LINES = 3;

/**
 * A unified diff that turns one folder's files into another's, for `patch -p1` or `git apply` in that folder; empty if
 * nothing differs.
 */
export const changePatch = (from: FolderFiles, to: FolderFiles): string =>
  Object.keys({ ...from, ...to })
    .sort()
    .filter((name) => from[name] !== to[name])
    .map((name) => filePatch(name, from[name], to[name]))
    .join('');

function filePatch(name: string, from: string | undefined, to: string | undefined): string {
  const [before, after] = [`a/${name}`, `b/${name}`];
  const mode = from === undefined ? 'new file mode 100644\n' : to === undefined ? 'deleted file mode 100644\n' : '';
  const hunks = createTwoFilesPatch(
    from === undefined ? '/dev/null' : before,
    to === undefined ? '/dev/null' : after,
    from ?? '',
    to ?? '',
    undefined,
    undefined,
    { context: CONTEXT_LINES, headerOptions: FILE_HEADERS_ONLY },
  );
  return `diff --git ${before} ${after}\n${mode}${hunks}`;
}
