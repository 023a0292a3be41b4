/** Styles of terminal text. */
export type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';

/** Applies a style, or leaves the text as it is where colours are off. */
export type Paint = (style: Style, text: string) => string;

/** For files, pipes and NO_COLOR. */
export const plainPaint: Paint = (_style, text) => text;
