/** The examples of docs/reference/api.md by the heading they stand under: modules that import 'warpsmith'. */
export const apiExamples = (page: string): { heading: string; code: string }[] =>
  [...page.matchAll(/^## (.+)$|^```ts\n([\s\S]*?)^```$/gm)].reduce<{ heading: string; code: string }[]>(
    (examples, [, heading, code]) => {
      if (heading !== undefined) examples.push({ heading, code: '' });
      else if (examples.length > 0) examples.at(-1)!.code += code;
      return examples;
    },
    [],
  );
