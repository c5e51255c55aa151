// The frame of all pages.

export const metadata = { title: "Emend with Next", icons: { icon: "data:," } };

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
