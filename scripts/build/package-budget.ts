/** What the published package may take, in bytes: twice of what it is now would be too much for an afternoon's try. */
export const PACKAGE_BUDGET = { packed: 4e6, unpacked: 14e6 } as const;

/** Nothing that only developers need belongs into the package. */
export const DEVELOPERS_FILE =
  /^(?:src|test|scripts|bench|docs|node_modules|\.)|(?:^|\/)(?:\.[^/]+|__pycache__|[^/]*\.(?:test\.[jt]s|map|tsbuildinfo|pyc|tgz))(?:\/|$)/;
