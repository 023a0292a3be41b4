/**
 * The environment of a tool, without secrets: the search path, the temporary folder and a fixed locale, and of the caller's
 * variables those named in `passedOn`.
 */
export function minimalEnvironment(passedOn: readonly string[] = []): Record<string, string> {
  const environment: Record<string, string> = { LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' };
  for (const name of ['PATH', 'TMPDIR', ...passedOn]) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}

/** This process's own environment, for what is to find all that its caller set. */
export const wholeEnvironment = (): Record<string, string> =>
  Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined));
