/** A document that the server printed, in a frame that runs its own script and reaches nothing of this page. */
export function DocumentFrame({ html, title }: { readonly html: string; readonly title: string }) {
  return <iframe class="document" title={title} sandbox="allow-scripts" srcdoc={html} />;
}
