// Builds what a page needs of warpsmith into one file: npm run build:browser
//   dist/browser/warpsmith.js   src/browser.ts and the pure layers it imports, minified, an ECMAScript module
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { ROOT } from './build/compile.ts';
import { shareTexts } from './build/share-texts.ts';

/** Bundles the page's part; `file` undefined keeps it in memory. */
export async function bundleForBrowser(file?: string): Promise<string> {
  const bundle = await rolldown({ input: join(ROOT, 'src', 'browser.ts'), platform: 'browser' });
  try {
    // A page needs no marks of pure calls, which take 4 kB. Notices of licences stay.
    const comments = { annotation: false } as const;
    const options = { format: 'esm', minify: true, codeSplitting: false, comments } as const;
    const { output } = await bundle.generate(options);
    const code = shareTexts(output[0].code);
    if (file) {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, code);
    }
    return code;
  } finally {
    await bundle.close();
  }
}

if (import.meta.main) {
  const file = join(ROOT, 'dist', 'browser', 'warpsmith.js');
  const code = await bundleForBrowser(file);
  const [bytes, gzipped] = [Buffer.byteLength(code), gzipSync(code).length];
  console.log(
    `dist/browser/warpsmith.js: ${(bytes / 1000).toFixed(0)} kB minified, ${(gzipped / 1000).toFixed(0)} kB gzipped`,
  );
}
