import { useEffect, useRef, useState } from 'preact/hooks';
import type { Look } from '../../src/server/wire.ts';
import type { Editor, Marked } from './editor.ts';
import { LINE_FIGURES } from './figures-of-line.ts';

interface FileEditorProps {
  readonly files: Readonly<Record<string, string>>;
  readonly file: string;
  readonly setFile: (file: string) => void;
  readonly onText: (file: string, text: string) => void;
  readonly onLine: (line: number) => void;
  /** A new object moves the cursor. */
  readonly goTo: { readonly line: number } | undefined;
  readonly look: Look | undefined;
}

/** A kernel's files, one of them in the editor, with figures and mistakes at its lines. */
export function FileEditor(props: FileEditorProps) {
  const { files, file, setFile, goTo, look } = props;
  const place = useRef<HTMLDivElement>(null);
  const [editor, setEditor] = useState<Editor>();
  const now = useRef(props);
  now.current = props;
  useEffect(() => {
    let made: Editor | undefined;
    let isGone = false;
    // The editor is most of the page's code, and no other page needs it.
    import('./editor.ts').then(({ createEditor }) => {
      if (isGone) return;
      made = createEditor(place.current!, {
        onText: (text) => now.current.onText(now.current.file, text),
        onLine: (line) => now.current.onLine(line),
      });
      setEditor(made);
    });
    return () => {
      isGone = true;
      made?.destroy();
    };
  }, []);
  useEffect(() => editor?.open(file, files[file] ?? ''), [editor, file, files[file]]);
  useEffect(() => {
    if (!editor || !look) return;
    editor.setFigures(look.view.lines.filter((line) => line.file === file));
    editor.setMarks(marksOf(look, file));
  }, [editor, look, file]);
  useEffect(() => {
    if (goTo) editor?.goTo(goTo.line);
  }, [editor, goTo]);
  return (
    <section class="editor" aria-label="Kernel">
      <div class="tabs" role="tablist" aria-label="Files">
        {Object.keys(files)
          .toReversed()
          .map((name) => (
            <button key={name} type="button" role="tab" aria-selected={name === file} onClick={() => setFile(name)}>
              {name}
            </button>
          ))}
      </div>
      <div class="code-place" ref={place} />
      <p class="note">
        Beside each line: {LINE_FIGURES.map(({ title, what }) => `${title} (${what})`).join(', ')}. Tab indents; Escape,
        then Tab leaves the source.
      </p>
    </section>
  );
}

/** What the compiler said, and where a launch was stopped. */
function marksOf({ evaluation: { diagnostics = [], fault, reason } }: Look, file: string): Marked[] {
  const ofCompiler = diagnostics.flatMap(({ severity, message, location }): Marked[] =>
    location?.file === file && severity !== 'note' ? [{ line: location.line, severity, message }] : [],
  );
  if (fault?.source?.file !== file) return ofCompiler;
  return [...ofCompiler, { line: fault.source.line, severity: 'error', message: reason ?? 'stopped here' }];
}
