import { globSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const FILES = ['LiberationSans-Regular.ttf', 'LiberationMono-Regular.ttf'].map(
  (name) => globSync(`/usr/share/fonts/**/${name}`)[0],
);

/** Whether this machine has the fonts that screenshots are drawn with: Debian's `fonts-liberation`. */
export const HAS_FIXED_FONTS = FILES.every((file) => file !== undefined);

/** Monospaced text is Liberation Mono, and all other text Liberation Sans. */
const configuration = (folders: readonly string[], cache: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  ${folders.map((folder) => `<dir>${folder}</dir>`).join('')}
  <cachedir>${cache}</cachedir>
  <selectfont>
    <rejectfont><glob>*</glob></rejectfont>
    <acceptfont><glob>*/LiberationSans-*</glob><glob>*/LiberationMono-*</glob></acceptfont>
  </selectfont>
  <match>
    <test name="family"><string>monospace</string></test>
    <edit name="family" mode="assign" binding="strong"><string>Liberation Mono</string></edit>
  </match>
  <match>
    <edit name="family" mode="append_last" binding="strong"><string>Liberation Sans</string></edit>
  </match>
</fontconfig>
`;

/**
 * Writes a configuration of fontconfig that knows two fonts, so that lines break at the same words on every machine, whatever
 * fonts it has beside them.
 *
 * @returns the environment of a browser that shall use it.
 */
export function fixedFonts(folder: string): Record<string, string> {
  const file = join(folder, 'fonts.conf');
  const folders = [...new Set(FILES.map((one) => dirname(one!)))];
  writeFileSync(file, configuration(folders, join(folder, 'fonts')));
  return { FONTCONFIG_FILE: file };
}
