import type { z } from 'zod';
import { WarpsmithError } from '../errors.ts';
import { escapeControls, formatJsonPath, formatJsonValue, valueAtJsonPath } from '../json/json-path.ts';
import { nearestName, suggestName } from '../nearest-name.ts';

type Issue = z.core.$ZodIssue;

/** The one error to show for a document that does not match its schema. */
export function schemaError(
  schema: z.ZodType,
  document: unknown,
  issues: readonly Issue[],
  file: string,
): WarpsmithError {
  const flat = issues.map((issue) => nearestAlternative(issue, document));
  // A misspelt key also makes the right one missing: name the misspelling.
  const issue = flat.find(({ code }) => code === 'unrecognized_keys') ?? flat[0]!;
  return new WarpsmithError({ file, ...describe(issue, schema, document) });
}

type Description = { code: string; message: string; path: string; received: string; expected: string; hint: string };

/** Next step for a value that is near no other. */
const SCHEMA_HINT = 'The JSON Schema named by `$schema` describes every field; editors complete from it.';

function describe(issue: Issue, schema: z.ZodType, document: unknown): Description {
  if (issue.code === 'unrecognized_keys') return unknownKey(issue, schema, document);
  if (isMissing(issue, document)) return missingKey(issue);
  if (issue.code === 'invalid_union' && issue.errors.length > 0) return noAlternative(issue, schema, document);
  const path = formatJsonPath(issue.path);
  const value = valueAtJsonPath(document, issue.path);
  const where = path === '' ? 'The file' : `\`${path}\``;
  if (issue.code === 'invalid_key') {
    const key = escapeControls(String(issue.path.at(-1)));
    const expected = issue.issues[0]?.message ?? 'a name';
    return {
      code: 'invalid-name',
      message: `\`${key}\` can't be a name here.`,
      path,
      received: key,
      expected,
      hint: 'Rename it.',
    };
  }
  const allowed = allowedValues(issue);
  const nearest = typeof value === 'string' && allowed ? nearestName(value, allowed.map(String)) : undefined;
  return {
    code: 'invalid-value',
    message: `${where} can't be ${formatJsonValue(value)}.`,
    path,
    received: formatJsonValue(value),
    expected: expectation(issue),
    hint: nearest === undefined ? SCHEMA_HINT : `Did you mean "${nearest}"?`,
  };
}

function unknownKey(issue: Issue & { code: 'unrecognized_keys' }, schema: z.ZodType, document: unknown): Description {
  const unknown = issue.keys[0]!;
  const key = escapeControls(unknown);
  const keys = keysAt(schema, issue.path, document);
  return {
    code: 'unknown-key',
    message: `\`${key}\` is not a key of ${issue.path.length === 0 ? 'this file' : `\`${formatJsonPath(issue.path)}\``}.`,
    path: formatJsonPath([...issue.path, unknown]),
    received: key,
    expected: `one of ${keys.join(', ')}`,
    hint: nearestName(key, keys) === undefined ? 'Remove it, or check its spelling.' : suggestName(key, keys),
  };
}

function missingKey(issue: Issue): Description {
  const key = String(issue.path.at(-1));
  const parent = formatJsonPath(issue.path.slice(0, -1));
  return {
    code: 'missing-key',
    message: `${parent === '' ? 'The file' : `\`${parent}\``} has no \`${key}\`.`,
    path: formatJsonPath(issue.path),
    received: 'nothing',
    expected: expectation(issue),
    hint: `Add "${key}".`,
  };
}

/** No alternative is near, so name them all. */
function noAlternative(issue: Issue & { code: 'invalid_union' }, schema: z.ZodType, document: unknown): Description {
  const path = formatJsonPath(issue.path);
  const value = valueAtJsonPath(document, issue.path);
  const keys = keysAt(schema, issue.path, document);
  const types = new Set(issue.errors.flatMap((branch) => branch.filter(isRootType).map(expectation)));
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const key = isObject ? Object.keys(value).find((name) => !keys.includes(name)) : undefined;
  const nearest = key === undefined ? undefined : nearestName(key, keys);
  return {
    code: 'invalid-value',
    message: `\`${path}\` can't be ${formatJsonValue(value)}.`,
    path,
    received: formatJsonValue(value),
    expected: keys.length > 0 ? `an object with one of the keys ${keys.join(', ')}` : [...types].join(' or '),
    hint: nearest === undefined ? SCHEMA_HINT : `Did you mean \`${nearest}\`?`,
  };
}

const isRootType = (issue: Issue): boolean => issue.path.length === 0 && issue.code === 'invalid_type';

/** Whether the value is absent, not merely wrong. */
const isMissing = (issue: Issue, document: unknown): boolean =>
  issue.path.length > 0 && valueAtJsonPath(document, issue.path) === undefined;

/**
 * Replaces "none of the alternatives" by the mistake in the intended alternative: the one with the fewest unknown and
 * missing keys, if it shares a key with the value.
 */
function nearestAlternative(issue: Issue, document: unknown): Issue {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return issue;
  const value = valueAtJsonPath(document, issue.path);
  if (typeof value !== 'object' || value === null) return issue;
  const keyCount = Object.keys(value).length;
  const branches = issue.errors
    .map((errors) => ({
      errors,
      unknown: unknownCount(errors),
      mismatches: unknownCount(errors) + missingCount(errors, value),
    }))
    .filter(({ errors, unknown }) => unknown < keyCount && !errors.some(isRootType));
  branches.sort((left, right) => left.mismatches - right.mismatches);
  const inner = branches[0]?.errors.map((error) => ({ ...error, path: [...issue.path, ...error.path] }));
  const best = inner?.find(({ code }) => code === 'unrecognized_keys') ?? inner?.[0];
  return best ? nearestAlternative(best as Issue, document) : issue;
}

const unknownCount = (errors: readonly Issue[]): number =>
  errors.reduce(
    (count, error) => count + (error.code === 'unrecognized_keys' && error.path.length === 0 ? error.keys.length : 0),
    0,
  );

const missingCount = (errors: readonly Issue[], value: object): number =>
  errors.filter((error) => error.path.length === 1 && !Object.hasOwn(value, error.path[0]!)).length;

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

function allowedValues(issue: Issue): readonly unknown[] | undefined {
  if (issue.code === 'invalid_value') return issue.values;
  if (issue.code === 'invalid_union' && 'options' in issue) return issue.options as readonly unknown[];
  return undefined;
}

function expectation(issue: Issue): string {
  const allowed = allowedValues(issue);
  if (allowed)
    return allowed.length === 1 ? formatJsonValue(allowed[0]) : `one of ${allowed.map(formatJsonValue).join(', ')}`;
  switch (issue.code) {
    case 'invalid_type':
      return TYPE_NAMES[issue.expected] ?? issue.expected;
    case 'invalid_union':
      return [...new Set(issue.errors.flatMap((branch) => branch.filter(isRootType).map(expectation)))].join(' or ');
    case 'too_small':
      return bound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', Number(issue.minimum));
    case 'too_big':
      return bound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', Number(issue.maximum));
    default:
      return issue.message;
  }
}

const SIZED: Readonly<Record<string, string>> = { array: 'entries', string: 'characters' };
const bound = (origin: string, relation: string, limit: number): string =>
  SIZED[origin]
    ? `${relation} ${limit} ${limit === 1 ? SIZED[origin].replace(/ies$/, 'y').replace(/s$/, '') : SIZED[origin]}`
    : `a number of ${relation} ${limit}`;

interface SchemaDefinition {
  type: string;
  shape?: Record<string, z.ZodType>;
  element?: z.ZodType;
  valueType?: z.ZodType;
  innerType?: z.ZodType;
  options?: readonly z.ZodType[];
  discriminator?: string;
}

const definitionOf = (schema: z.ZodType): SchemaDefinition => schema._zod.def as unknown as SchemaDefinition;

/** Keys that an object at this path of a document may have; of all alternatives if the schema has several. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[], value: unknown): string[] {
  const definition = definitionOf(schema);
  if (definition.innerType) return keysAt(definition.innerType, path, value);
  if (definition.options) {
    const options = matchingOptions(definition, value);
    return [...new Set(options.flatMap((option) => keysAt(option, path, value)))];
  }
  const [step, ...rest] = path;
  if (step === undefined) return Object.keys(definition.shape ?? {});
  const child = definition.element ?? definition.valueType ?? definition.shape?.[String(step)];
  if (!child) return [];
  return keysAt(child, rest, (value as Record<PropertyKey, unknown> | undefined)?.[step]);
}

/** Alternatives that the value may mean: by its discriminator, otherwise those that know one of its keys. */
function matchingOptions(definition: SchemaDefinition, value: unknown): readonly z.ZodType[] {
  const options = definition.options ?? [];
  if (typeof value !== 'object' || value === null) return options;
  const known = options.filter((option) => {
    const shape = definitionOf(option).shape ?? {};
    if (definition.discriminator === undefined) return Object.keys(value).some((key) => key in shape);
    const discriminator = shape[definition.discriminator];
    return discriminator?.safeParse((value as Record<string, unknown>)[definition.discriminator]).success ?? false;
  });
  return known.length > 0 ? known : options;
}
