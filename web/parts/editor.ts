import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { cpp } from '@codemirror/lang-cpp';
import { json } from '@codemirror/lang-json';
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState, type Extension, StateEffect, StateField } from '@codemirror/state';
import { EditorView, GutterMarker, gutter, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { InspectedLine } from '../../src/server/wire.ts';
import { heatOf, LINE_FIGURES } from './figures-of-line.ts';

/** A mistake at a line of the file that is shown. */
export interface Marked {
  readonly line: number;
  readonly severity: 'error' | 'warning';
  readonly message: string;
}

/** The editor of one file, with figures beside its lines. */
export interface Editor {
  /** Shows another file, or the same with another text. */
  open(name: string, text: string): void;
  setFigures(lines: readonly InspectedLine[]): void;
  setMarks(marks: readonly Marked[]): void;
  goTo(line: number): void;
  destroy(): void;
}

const setLines = StateEffect.define<readonly InspectedLine[]>();

/** Figures by line number, from 1. They stay where they are while somebody types, until there are new ones. */
const figures = StateField.define<ReadonlyMap<number, InspectedLine>>({
  create: () => new Map(),
  update(value, transaction) {
    const effect = transaction.effects.find((one) => one.is(setLines));
    return effect ? new Map(effect.value.map((line) => [line.line, line])) : value;
  },
});

class FigureMarker extends GutterMarker {
  readonly #text: string;
  readonly #heat: number;

  constructor(text: string, heat: number) {
    super();
    this.#text = text;
    this.#heat = heat;
  }

  override eq(other: FigureMarker): boolean {
    return other.#text === this.#text && other.#heat === this.#heat;
  }

  override toDOM(): Node {
    const span = document.createElement('span');
    span.textContent = this.#text;
    span.className = `heat${this.#heat}`;
    return span;
  }
}

const figureGutters: readonly Extension[] = LINE_FIGURES.map(({ of, widest }, index) =>
  gutter({
    class: `cm-figures cm-figures-${index}`,
    lineMarker(view, block) {
      const line = view.state.field(figures).get(view.state.doc.lineAt(block.from).number);
      const text = line ? of(line) : '';
      return text === '' ? null : new FigureMarker(text, index === 0 ? heatOf(line!) : 0);
    },
    lineMarkerChange: (update) => update.startState.field(figures) !== update.state.field(figures),
    initialSpacer: () => new FigureMarker(widest, 0),
  }),
);

const colours = HighlightStyle.define([
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [tags.keyword, tags.modifier, tags.controlKeyword], color: 'var(--magenta)' },
  { tag: [tags.typeName, tags.standard(tags.name)], color: 'var(--teal)' },
  { tag: [tags.number, tags.bool, tags.string, tags.propertyName], color: 'var(--amber)' },
  { tag: [tags.processingInstruction, tags.macroName], color: 'var(--blue)' },
]);

const theme = EditorView.theme({
  '&': { backgroundColor: 'var(--paper)', color: 'var(--ink)', fontSize: '13px', height: '100%' },
  '.cm-content': { caretColor: 'var(--ink)', fontFamily: 'inherit' },
  '.cm-scroller': { fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace' },
  '.cm-gutters': { backgroundColor: 'var(--panel)', color: 'var(--muted)', borderRight: '1px solid var(--rule)' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--blue) 8%, transparent)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground, .cm-content ::selection': {
    backgroundColor: 'color-mix(in srgb, var(--blue) 25%, transparent)',
  },
  '.cm-figures .cm-gutterElement': { padding: '0 4px', textAlign: 'right' },
  '.cm-tooltip': { backgroundColor: 'var(--panel)', color: 'var(--ink)', borderColor: 'var(--rule)' },
});

/**
 * Text that replaces a selection goes through the state, not through the document: Chromium would give it the style of what it
 * replaces as an attribute, which the page's policy refuses and complains of.
 */
const replacing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data, isComposing } = event;
    if (inputType !== 'insertText' || data === null || isComposing || view.state.selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

/** @param told called with the text whenever somebody changes it, and with the line whenever the cursor is on another one. */
export function createEditor(
  parent: HTMLElement,
  told: { readonly onText: (text: string) => void; readonly onLine: (line: number) => void },
): Editor {
  const language = new Compartment();
  const nonce = document.querySelector<HTMLMetaElement>('meta[name=nonce]')?.content ?? '';
  let isOpening = false;
  const extensions: Extension = [
    EditorView.cspNonce.of(nonce),
    ...[lineNumbers(), ...figureGutters, lintGutter(), history(), bracketMatching(), indentOnInput()],
    ...[highlightActiveLine(), indentUnit.of('  '), syntaxHighlighting(colours), theme, figures, replacing],
    keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
    EditorView.contentAttributes.of({ 'aria-label': 'Source' }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged && !isOpening) told.onText(update.state.doc.toString());
      if (update.selectionSet || update.docChanged)
        told.onLine(update.state.doc.lineAt(update.state.selection.main.head).number);
    }),
  ];
  const view = new EditorView({ parent, state: EditorState.create({ extensions: [extensions, language.of([])] }) });
  return {
    open(name, text) {
      isOpening = true;
      const changes = { from: 0, to: view.state.doc.length, insert: text };
      const effects = language.reconfigure(name.endsWith('.json') ? json() : cpp());
      if (view.state.doc.toString() !== text) view.dispatch({ changes, effects });
      else view.dispatch({ effects });
      isOpening = false;
    },
    setFigures: (lines) => view.dispatch({ effects: setLines.of(lines) }),
    setMarks(marks) {
      const { doc } = view.state;
      const diagnostics = marks.flatMap(({ line, severity, message }): Diagnostic[] => {
        if (line < 1 || line > doc.lines) return [];
        const { from, to } = doc.line(line);
        return [{ from, to, severity, message }];
      });
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    goTo(line) {
      const { from } = view.state.doc.line(Math.max(1, Math.min(line, view.state.doc.lines)));
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}
