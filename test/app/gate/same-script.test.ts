import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isSameScript } from '../../../src/app/gate/same-script.ts';
import { repository as ROOT } from '../../cli/run-cli.ts';

describe('scripts that are the same', () => {
  it.each([
    ['a comment of its own line', 'a();\nb();', 'a();\n// why\n/* and\nhow */\nb();'],
    ['a comment behind code', 'a();\nb();', 'a(); // why\nb();'],
    ['a comment before all of it', 'a();', '// why\n\na();\n'],
    ['indentation and empty lines', 'a();\nb();', 'a();\n\n\n    b();'],
    ['line ends of another system', 'a();\nb();\n', 'a();\r\nb();\r\n'],
    ['words that look like comments in a text', 'a("// b", \'/*\');', '// c\na("// b", \'/*\');'],
    ['a comment with quotes and templates', 'a();', "// it's `x[0]`\na();"],
    ['a comment behind a division', 'x = (a + b) / c[0] / 2;', 'x = (a + b) / c[0] / 2; // why'],
    ['the words of a comment', 'a(); /* one */ b();', 'a(); /* two */ b();'],
  ])('differ in %s', (_, before, after) => expect(isSameScript(before, after)).toBe(true));

  it.each([
    ['a name', 'a();', 'b();'],
    ['what a comment hides', 'a();\nb();', 'a();\n// b();'],
    ['what a comment hid', 'a();\n/* b(); */', 'a();\n b();'],
    ['a text', 'a("// b");', 'a("// c");'],
    ['where a line ends, which ends a statement', 'return 1;', 'return\n1;'],
    ['a line that a comment ends', 'return /* */ 1;', 'return /*\n*/ 1;'],
    ['two words that a comment parts', 'ab', 'a/**/b'],
    ['the length of a text that ends a line', "a('b\\\n');", "a('b');"],
    ['a regular expression that looks like a comment', 'x = /[/]*a/; y = 1 /*a*/', 'x = /[/]*b/; y = 1 /*b*/'],
    ['one behind a condition', 'if (x) /"/.test(y); z("//a")', 'if (x) /"/.test(y); z("//b")'],
    ['one behind a keyword', 'return /"/.test(y) // a"', 'return /"/.test(y) // b"'],
    ['a template', 'a(`//b`)', 'a(`//c`)'],
    ['a comment that has no end', 'a(); /* b', 'a(); /* c'],
    ['its own text, which it reads', 'f.toString()', '// b\nf.toString()'],
    ['a script that nobody can read', "a('", "a('"],
  ])('do not differ in %s', (_, before, after) => expect(isSameScript(before, after)).toBe(false));

  it.each(['attention', 'gemm', 'layernorm', 'softmax'])('are told apart for the reference of %s', (problem) => {
    const text = readFileSync(join(ROOT, 'problems', problem, 'reference.ts'), 'utf8');
    const commented = text.replaceAll(/^(\s*)(for|let|const) /gm, '$1// A comment.\n$1$2 ');
    expect(commented).not.toBe(text);
    expect(isSameScript(text, commented)).toBe(true);
    expect(isSameScript(text, `${commented}more();\n`)).toBe(false);
  });
});
