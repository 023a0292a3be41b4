/** `name`, or `name$2`, `name$3`, … when it is among the used ones, which it joins. */
export function uniqueName(used: Set<string>, name: string): string {
  let unique = name;
  for (let n = 2; used.has(unique); n++) unique = `${name}$${n}`;
  used.add(unique);
  return unique;
}
