import type { CDPSession, Page } from 'playwright-core';

/** A screenshot as the comparison sees it: the mean colour of each block. */
export interface Means {
  readonly columns: number;
  readonly rows: number;
  /** Red, green and blue of each block, 0 to 255, row by row. */
  readonly blocks: readonly number[];
}

/** Width and height of a block of the page, CSS px. */
export const BLOCK = 16;

/** Of 100. */
const QUALITY = 50;

/** The whole page as WebP, from its top to its bottom. @param scale px of the screenshot for each CSS px. */
export async function takeScreenshot(session: CDPSession, scale: number): Promise<Buffer> {
  const { cssContentSize } = await session.send('Page.getLayoutMetrics');
  const { data } = await session.send('Page.captureScreenshot', {
    format: 'webp',
    quality: QUALITY,
    captureBeyondViewport: true,
    clip: { x: 0, y: 0, width: cssContentSize.width, height: cssContentSize.height, scale },
  });
  return Buffer.from(data, 'base64');
}

/** The means of a screenshot's blocks. Chromium reads the screenshot, on whatever page. */
export const meansOf = (page: Page, screenshot: Buffer, scale: number): Promise<Means> =>
  page.evaluate(
    async ([text, size]) => {
      const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(text), (one) => one.charCodeAt(0))]));
      const { width, height } = bitmap;
      const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true })!;
      context.drawImage(bitmap, 0, 0);
      const { data } = context.getImageData(0, 0, width, height);
      const [columns, rows] = [Math.ceil(width / size), Math.ceil(height / size)];
      const sums = new Float64Array(columns * rows * 4);
      for (let y = 0, at = 0; y < height; y++)
        for (let x = 0; x < width; x++, at += 4) {
          const block = (Math.floor(y / size) * columns + Math.floor(x / size)) * 4;
          for (let channel = 0; channel < 3; channel++) sums[block + channel]! += data[at + channel]!;
          sums[block + 3]! += 1;
        }
      const blocks: number[] = [];
      for (let block = 0; block < sums.length; block += 4)
        for (let channel = 0; channel < 3; channel++)
          blocks.push(Math.round((10 * sums[block + channel]!) / sums[block + 3]!) / 10);
      return { columns, rows, blocks };
    },
    [screenshot.toString('base64'), BLOCK * scale] as const,
  );
