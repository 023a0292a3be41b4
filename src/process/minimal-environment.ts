/** The environment of a tool, without secrets: the search path, the temporary folder and a fixed locale. */
export function minimalEnvironment(): Record<string, string> {
  const environment: Record<string, string> = { LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' };
  for (const name of ['PATH', 'TMPDIR']) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}
