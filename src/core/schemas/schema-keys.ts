import type { z } from 'zod';

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
export function keysAt(schema: z.ZodType, path: readonly PropertyKey[], value: unknown): string[] {
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
